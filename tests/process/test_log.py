"""The log: one JSON object per line for machines, colours only for people."""

from __future__ import annotations

import io
import json
import logging

import pytest
import structlog

from tenure_process.log import configure_logging

pytestmark = pytest.mark.usefixtures("own_logging")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_events_of_both_kinds_are_json_lines() -> None:
    stream = io.StringIO()
    configure_logging(stream)
    structlog.get_logger("tenure.x").info("began", replica="a")
    logging.getLogger("library").error("failed %s", "here", exc_info=ValueError("odd"))
    began, failed = map(json.loads, stream.getvalue().splitlines())
    assert (began["event"], began["replica"], began["level"]) == ("began", "a", "info")
    assert began["timestamp"].endswith("Z")
    assert (failed["event"], failed["level"]) == ("failed here", "error")
    assert "ValueError: odd" in failed["exception"]


@pytest.mark.parametrize(("level", "lines"), [(logging.INFO, 0), (logging.DEBUG, 2)])
def test_what_happens_all_the_time_is_logged_when_asked_for(level: int, lines: int) -> None:
    stream = io.StringIO()
    configure_logging(stream, level)
    structlog.get_logger("tenure.x").debug("request")
    logging.getLogger("library").debug("step")
    assert len(stream.getvalue().splitlines()) == lines


def test_a_terminal_is_for_people() -> None:
    stream = Terminal()
    configure_logging(stream)
    structlog.get_logger("tenure.x").info("began", replica="a")
    assert "began" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_a_traceback_for_people_shows_no_local_variables() -> None:
    stream = Terminal()
    configure_logging(stream)
    token = "tw1_abcdefgh_" + "A" * 43
    try:
        int(token[13:16])
    except ValueError:
        structlog.get_logger("tenure.x").exception("failed")
    assert "ValueError: invalid literal" in stream.getvalue()
    assert token not in stream.getvalue()
