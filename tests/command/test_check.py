"""`control check`, `ingress check` and `control migrate`: what they say of settings and of databases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.command.check import settings_rows, without_password
from tenure_control.settings import PREFIX, read_settings
from tenure_ingress import settings as ingress
from tenure_process.source import gather
from tests.harness import ScratchDatabase
from tests.harness.blocking import BlockingConnection

ENVIRONMENT = {
    "TENURE_CONTROL_DATABASE_URL": "postgresql://tenure_control:secret@db/tenure",
    "TENURE_OPERATOR_DATABASE_URL": "postgresql://tenure_operator@db/tenure?password=secret&port=1",
    "TENURE_CONTROL_INTERVAL": "1500ms",
}


def tenure(*arguments: str, **settings: str) -> tuple[int, str]:
    """Run a command with these settings and no other; its exit code and everything it said."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    command = [sys.executable, "-m", "tenure", *arguments]
    done = subprocess.run(command, env=inherited | settings, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def addresses(database: ScratchDatabase) -> dict[str, str]:
    return {
        "TENURE_CONTROL_DATABASE_URL": database.dsn("tenure_control"),
        "TENURE_OPERATOR_DATABASE_URL": database.dsn("tenure_operator"),
        "TENURE_MIGRATE_DATABASE_URL": database.dsn("tenure_migrate"),
    }


def test_settings_are_shown_by_the_names_they_are_given_by() -> None:
    file = {"TENURE_OPERATOR_DATABASE_URL": ENVIRONMENT["TENURE_OPERATOR_DATABASE_URL"]}
    environ = {name: text for name, text in ENVIRONMENT.items() if name not in file}
    given = gather(environ, {"TENURE_CONTROL_STATEMENTS": "0"}, {".tenure/env": file})
    rows = settings_rows(read_settings(given), PREFIX, given)
    shown = {row["setting"]: (row["value"], row["from"]) for row in rows}
    assert shown["TENURE_CONTROL_INTERVAL"] == ("1.5 s", "environment")
    assert shown["TENURE_CONTROL_STATEMENTS"] == ("0", "flag")
    assert shown["TENURE_CONTROL_LISTEN"] == ("127.0.0.1:7400", "default")
    assert shown["TENURE_CONTROL_TLS_KEY"] == ("-", "default")
    assert shown["TENURE_CONTROL_INSECURE_PLAINTEXT"] == ("no", "default")
    assert shown["TENURE_OPERATOR_DATABASE_URL"][1] == ".tenure/env"
    assert "secret" not in str(rows)


def test_each_setting_of_the_ingress_is_shown_by_its_own_name_and_origin() -> None:
    environ = {
        "TENURE_DATABASE_URL": "postgresql://postgres@db/tenure",
        "TENURE_INGRESS_DATABASE_URL": "postgresql://tenure_ingress@db/tenure",
        "TENURE_INGRESS_FAILURES_PER_PEER": "40",
        "TENURE_INGRESS_TLS_CERTIFICATE": "/tls/crt.pem",
        "TENURE_INGRESS_TLS_KEY": "/tls/key.pem",
    }
    given = gather(environ, {})
    rows = settings_rows(ingress.read_settings(given), ingress.PREFIX, given)
    assert rows[0]["setting"] == "TENURE_INGRESS_DATABASE_URL"
    shown = {row["setting"]: (row["value"], row["from"]) for row in rows}
    assert shown["TENURE_INGRESS_FAILURES"] == ("600", "default")
    assert shown["TENURE_INGRESS_FAILURES_PER_PEER"] == ("40", "environment")
    assert shown["TENURE_INGRESS_TLS_CERTIFICATE"] == ("/tls/crt.pem", "environment")
    assert shown["TENURE_INGRESS_TLS_CLIENT_CA"] == ("-", "default")


def test_an_address_is_shown_without_its_password() -> None:
    assert (
        without_password("postgresql://a:b@h/d?x=1&password=c&y=2") == "postgresql://a@h/d?x=1&password=…&y=2"
    )


@pytest.mark.parametrize(
    ("verb", "address"),
    [
        ("ingress check", "nonsense"),
        ("ingress check", "postgresql://u:p@[::/x"),
        ("control migrate", "postgresql://u@h:x/d"),
    ],
)
def test_an_address_that_is_none_is_told_as_such(verb: str, address: str) -> None:
    code, said = tenure(
        *verb.split(), TENURE_INGRESS_DATABASE_URL=address, TENURE_MIGRATE_DATABASE_URL=address
    )
    assert code == 78
    assert "the address cannot be read" in said
    assert "Traceback" not in said
    assert "tenure control roles" not in said


def test_an_old_schema_is_found_by_check_and_mended_by_migrate(database: ScratchDatabase) -> None:
    settings = addresses(database)
    assert tenure("control", "migrate", **settings) == (0, "nothing to apply: the schema is up to date\n")
    code, said = tenure("control", "check", **settings)
    assert (code, said.splitlines()[-1]) == (0, "ready: nothing stands in the way")
    with BlockingConnection(database.dsn("tenure_migrate")) as connection:
        connection.execute(
            "SET ROLE tenure_owner; DELETE FROM tenure.schema_migrations "
            "WHERE id = (SELECT max(id) FROM tenure.schema_migrations)"
        )
    code, said = tenure("control", "check", **settings)
    assert code == 78
    assert "the schema is older than this code" in said


def test_a_read_only_server_is_told_once(database: ScratchDatabase) -> None:
    with BlockingConnection(database.dsn("postgres")) as connection:
        connection.execute(f"ALTER DATABASE {database.name} SET default_transaction_read_only = on")
    for verb in ("check", "migrate"):
        code, said = tenure("control", verb, **addresses(database))
        assert code == 78
        assert said.count("the server is read-only: give the address of the writable primary") == 1


def test_flags_environment_and_file_are_told_apart(database: ScratchDatabase, tmp_path: Path) -> None:
    file = tmp_path / "tenure.toml"
    file.write_text('[ingress]\nlease = "1m"\nprocesses = 3\n[ingress.limit]\nheaders = 32\n')
    file.chmod(0o600)
    code, said = tenure(
        *("ingress", "check", "--processes", "2", "--settings", str(file)),
        TENURE_INGRESS_DATABASE_URL=database.dsn("tenure_ingress"),
    )
    assert code == 0, said
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.startswith("TENURE_")}
    assert rows["TENURE_INGRESS_PROCESSES"] == ["2", "flag"]
    assert rows["TENURE_INGRESS_DATABASE_URL"][-1] == "environment"
    assert rows["TENURE_INGRESS_LEASE"] == ["60", "s", str(file)]
    assert rows["TENURE_INGRESS_LIMIT_HEADERS"] == ["32", str(file)]
    assert rows["TENURE_INGRESS_LIMIT_IDLE_TIME"] == ["75", "s", "default"]


def test_certificates_are_looked_at(database: ScratchDatabase, tmp_path: Path) -> None:
    code, said = tenure(
        *("ingress", "check"),
        TENURE_INGRESS_DATABASE_URL=database.dsn("tenure_ingress"),
        TENURE_INGRESS_TLS_CERTIFICATE=str(tmp_path / "none.pem"),
        TENURE_INGRESS_TLS_KEY=str(tmp_path / "none.pem"),
    )
    assert code == 78
    assert f"{tmp_path / 'none.pem'} cannot be read" in said


@pytest.mark.parametrize("verb", ["check", "serve"])
def test_a_file_that_cannot_be_used_is_78(verb: str, tmp_path: Path) -> None:
    file = tmp_path / "tenure.toml"
    file.write_text("[ingres]\n")
    code, said = tenure("ingress", verb, "--settings", str(file))
    assert code == 78
    assert "ingres is none of its tables" in said
