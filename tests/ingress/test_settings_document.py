"""What operators read about settings is what the code does."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from tenure_http import Limits
from tenure_ingress.settings import PREFIX, read_settings
from tenure_process.source import read_file
from tests.ingress.settings_table import BEGIN, DOCUMENT, END, names, table

TEXT = DOCUMENT.read_text(encoding="utf-8")


def test_the_table_is_what_the_sources_say() -> None:
    found = TEXT.partition(BEGIN)[2].partition(END)[0]
    assert found == table(), "run: python -m tests.ingress.settings_table"
    assert len(re.findall(r"LIMIT_", found)) >= len(dataclasses.fields(Limits))


def test_every_name_in_it_is_one_and_there_are_no_others() -> None:
    reading = _Recording({f"{PREFIX}DATABASE_URL": "postgresql://tenure_ingress@db/tenure"})
    read_settings(reading)
    assert {name.removeprefix(PREFIX) for name in reading.asked} == names()


class _Recording(dict[str, str]):
    """Remembers what it was asked for."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def get(self, key: str, default: object = None) -> str | None:  # type: ignore[override]
        self.asked.add(key)
        return super().get(key)


def test_every_name_in_the_text_is_a_setting() -> None:
    for name in re.findall(r"TENURE_INGRESS_([A-Z_]+)", TEXT):
        assert name in names()


def test_the_sample_file_is_one(tmp_path: Path) -> None:
    lines = re.findall(r"^    (\[ingress.*\]|[a-z.]+ = .*)$", TEXT, re.MULTILINE)
    file = tmp_path / "tenure.toml"
    file.write_text("\n".join(lines))
    file.chmod(0o600)
    told = {**read_file(file), f"{PREFIX}DATABASE_URL": "postgresql://tenure_ingress@db/tenure"}
    settings = read_settings(told)
    assert (settings.processes, settings.limits.connections) == (4, 20_000)
    assert settings.tls is not None
