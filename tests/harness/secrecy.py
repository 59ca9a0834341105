"""Secrets never in logs: everything that the suite logs is read, and a secret in it fails the test that ran.

Heard is what is logged in this process, whichever handlers and processors a test installed: every record of
the standard library where it is made, and every event of structlog before a processor sees it. What
processes wrote that a test started is read from the `*.log` files below its folders, and wherever a test
calls `read`.

Secrets are known by their form: bearer tokens of workers and operators, 43 characters of base64url as lease
tokens have them, passwords in addresses. What was found is named by its kind and by who said it, never by
itself.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest
from structlog._base import BoundLoggerBase

_CHARACTER: Final = "[A-Za-z0-9_-]"

FORMS: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        "a worker's token": re.compile(f"tw1_[a-z0-9]{{8,32}}_{_CHARACTER}{{43}}"),
        "an operator's token": re.compile(f"to1_[a-z0-9]{{8,32}}_{_CHARACTER}{{43}}"),
        # Random: with a digit, a small and a capital letter. Names of tests are as long, and have no
        # capitals.
        "a lease token": re.compile(
            f"(?<!{_CHARACTER})(?={_CHARACTER}*[0-9])(?={_CHARACTER}*[a-z])(?={_CHARACTER}*[A-Z])"
            f"{_CHARACTER}{{43}}(?!{_CHARACTER})"
        ),
        "a database password": re.compile(r"postgres(?:ql)?://[^:/@\s]+:[^@\s…*]+@|[?&]password=[^&\s…*]+"),
    }
)


def kinds(text: str) -> list[str]:
    """The kinds of secrets in a text."""
    return [kind for kind, form in FORMS.items() if form.search(text)]


@dataclass
class Secrecy:
    """What was said that should not have been. `found` has one sentence for each speaker and kind."""

    found: dict[str, None] = field(default_factory=dict)
    sizes: dict[Path, int] = field(default_factory=dict)

    def hear(self, speaker: str, text: str) -> None:
        """Look at one text."""
        for kind in kinds(text):
            self.found[f"{speaker} logged {kind}"] = None

    def read(self, *files: Path) -> None:
        """Look at what processes wrote, unless it was looked at before."""
        for file in files:
            size = file.stat().st_size
            if self.sizes.get(file) != size:
                self.sizes[file] = size
                self.hear(f"the process that wrote {file.name}", file.read_text(errors="replace"))

    def take(self) -> list[str]:
        """What was found since the last time."""
        found, self.found = list(self.found), {}
        return found

    def record(self, record: logging.LogRecord) -> None:
        """Hear a record of the standard library."""
        told = "".join(traceback.format_exception(record.exc_info[1])) if record.exc_info else ""
        extra = {name: value for name, value in vars(record).items() if name not in _ORDINARY}
        self.hear(f"logger {record.name}", f"{_message(record)} {extra} {told}")

    def event(self, name: str, event: str | None, facts: Mapping[str, Any]) -> None:
        """Hear an event of structlog."""
        error = facts.get("exc_info")
        cause = error if isinstance(error, BaseException) else None
        told = traceback.format_exc() if error is True else "".join(traceback.format_exception(cause))
        self.hear(f"structlog event {event!r}", f"{name} {event} {dict(facts)} {told if error else ''}")


SECRECY: Final = Secrecy()
"""The one of this process."""

_ORDINARY: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "args", "msg"}


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):  # the handler will complain about it
        return f"{record.msg!r} {record.args!r}"


def listen(secrecy: Secrecy) -> None:
    """Hear everything that this process logs from now on.

    Both places are before handlers, processors and captures, which tests replace as they like. structlog has
    no public one: its loggers are made anew wherever it is configured.
    """
    handle, process = logging.Logger.handle, BoundLoggerBase._process_event

    def hear_record(self: logging.Logger, record: logging.LogRecord) -> None:
        secrecy.record(record)
        handle(self, record)

    def hear_event(self: BoundLoggerBase, name: str, event: str | None, facts: dict[str, Any]) -> Any:
        secrecy.event(name, event, facts)
        return process(self, name, event, facts)

    logging.Logger.handle = hear_record  # type: ignore[method-assign]
    BoundLoggerBase._process_event = hear_event  # type: ignore[assignment, method-assign]


@pytest.fixture(autouse=True)
def no_secret_is_logged(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test during which a secret was logged, here or in a process that writes below `tmp_path`."""
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    if folder is not None:
        SECRECY.read(*folder.rglob("*.log"))
    if found := SECRECY.take():
        pytest.fail("; ".join(found), pytrace=False)


@pytest.fixture(scope="session", autouse=True)
def no_process_logs_a_secret(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Reads at the end of the session what the processes wrote that outlived a test."""
    yield
    SECRECY.read(*tmp_path_factory.getbasetemp().rglob("*.log"))
    if found := SECRECY.take():
        pytest.fail("; ".join(found), pytrace=False)


listen(SECRECY)
