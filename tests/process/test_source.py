"""Where settings come from, and which of two that say the same thing wins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenure_process.settings import SettingsError
from tenure_process.source import FILE, Sources, gather, read_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of settings that only its owner sees."""
    path = tmp_path / "tenure.toml"
    path.touch(mode=0o600)
    return path


def test_flags_win_over_the_environment_and_that_over_the_file(file: Path) -> None:
    file.write_text('[ingress]\na = "file"\nb = "file"\nc = "file"\n')
    environ = {FILE: str(file), "TENURE_INGRESS_A": "environment", "TENURE_INGRESS_B": "environment"}
    sources = gather(environ, {"TENURE_INGRESS_A": "flag"}, {"stack": {"TENURE_INGRESS_D": "stack"}})
    said = {name[-1]: (sources[name], sources.origin(name)) for name in sources if name != FILE}
    assert said == {
        "A": ("flag", "flag"),
        "B": ("environment", "environment"),
        "C": ("file", str(file)),
        "D": ("stack", "stack"),
    }


def test_an_empty_text_hides_nothing() -> None:
    sources = Sources({"flag": {"A": ""}, "environment": {"A": "1", "B": ""}})
    assert dict(sources) == {"A": "1"}
    assert len(sources) == 1


def test_the_flag_for_the_file_wins(file: Path) -> None:
    file.write_text("[control]\nstatements = 0\n")
    assert gather({FILE: "/none"}, {FILE: str(file)})["TENURE_CONTROL_STATEMENTS"] == "0"


def test_tables_and_keys_are_the_words_of_names(file: Path) -> None:
    file.write_text(
        """
        operator.database_url = "postgresql://o@h/d"
        [ingress]
        insecure_plaintext = true
        debug = false
        [ingress.limit]
        headers = 64
        """
    )
    assert read_file(file) == {
        "TENURE_OPERATOR_DATABASE_URL": "postgresql://o@h/d",
        "TENURE_INGRESS_INSECURE_PLAINTEXT": "yes",
        "TENURE_INGRESS_DEBUG": "no",
        "TENURE_INGRESS_LIMIT_HEADERS": "64",
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[ingress", "cannot be used"),
        ("[worker]\nx = 1", "worker is none of its tables: control, ingress, operator"),
        ("listen = 1", "listen is none of its tables"),
        ("[ingress]\nlease = 1.5", "ingress.lease must be a text, a whole number, true or false"),
        ("[ingress]\nlease = ['1s']", "ingress.lease must be"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(file: Path, text: str, sentence: str) -> None:
    file.write_text(text)
    with pytest.raises(SettingsError, match="cannot be used") as caught:
        read_file(file)
    assert str(file) in str(caught.value)
    assert sentence in str(caught.value)


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"/none cannot be used: .*No such file"):
        gather({FILE: "/none"}, {})


SECRET = '[ingress]\ndatabase_url = "postgresql://tenure_ingress:secret@db/tenure"\n'
OPEN = '[ingress]\ndatabase_url = "postgresql://tenure_ingress@db/tenure"\n'


@pytest.mark.parametrize(
    ("text", "mode", "sentence"),
    [
        (SECRET, 0o644, "has a password and can be read by everybody"),
        (SECRET.replace(":secret", "").replace('tenure"', 'tenure?password=x"'), 0o644, "has a password"),
        (OPEN, 0o660, "can be changed by others"),
        (OPEN, 0o602, "can be changed by others"),
    ],
)
def test_a_file_that_others_could_misuse_is_refused(file: Path, text: str, mode: int, sentence: str) -> None:
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(SettingsError, match=sentence) as caught:
        read_file(file)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(("text", "mode"), [(SECRET, 0o640), (OPEN, 0o644)])
def test_others_may_read_what_is_no_secret(file: Path, text: str, mode: int) -> None:
    file.write_text(text)
    file.chmod(mode)
    assert read_file(file)


def test_a_file_of_another_user_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.geteuid()
    if owner == 0:
        os.chown(file, 4242, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(SettingsError, match="can be changed by its owner"):
        read_file(file)
