"""How the command line speaks to the operator API, and what it says when it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import ClassVar

import pytest

from tenure.client import Operator, path, present
from tenure.exit import Stop
from tenure_process.exit import ExitCode

TOKEN = "to1_abcdefgh_x"


class _Answers(BaseHTTPRequestHandler):
    answer: ClassVar[tuple[int, str]] = (200, "{}")

    def do_GET(self) -> None:
        status, body = self.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """A server that answers with `_Answers.answer`."""
    with HTTPServer(("127.0.0.1", 0), _Answers) as serving:
        thread = Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body", "code", "sentence"),
    [
        (
            404,
            '{"code": "not_found", "detail": "There is no run."}',
            ExitCode.FAILED,
            "not_found: There is no run.",
        ),
        (
            503,
            '{"code": "busy", "detail": "Locked.", "disposition": "retry"}',
            ExitCode.TEMPORARY,
            "busy: Locked.",
        ),
        (404, '{"code": "unknown_route"}', ExitCode.CONFIGURATION, "does not answer as control does"),
        (404, "<html>", ExitCode.CONFIGURATION, "does not answer as control does"),
        (200, "welcome", ExitCode.CONFIGURATION, "does not answer as control does"),
        (500, "[]", ExitCode.FAILED, "500: Internal Server Error"),
    ],
)
def test_a_refusal_is_one_sentence_and_an_exit_code(
    server: str, monkeypatch: pytest.MonkeyPatch, status: int, body: str, code: int, sentence: str
) -> None:
    monkeypatch.setattr(_Answers, "answer", (status, body))
    with Operator(server, TOKEN) as operator, pytest.raises(Stop, match=sentence) as stop:
        operator.get("/v1/projects/p/runs/r")
    assert stop.value.code == code


@pytest.mark.parametrize(
    "url", ["nonsense", "ftp://x", "http://", "http://[::", "http://127.0.0.1:99999", "http://a:b"]
)
def test_an_address_that_is_none_is_a_matter_of_configuration(url: str) -> None:
    with pytest.raises(Stop, match="TENURE_CONTROL_URL must be an address such as") as stop:
        Operator(url, TOKEN)
    assert stop.value.code == ExitCode.CONFIGURATION


@pytest.mark.parametrize("token", ["a\nb", "\u00e4", "a b", "\udcff"])
def test_a_token_that_cannot_be_one_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(Stop, match="TENURE_OPERATOR_TOKEN is not a token") as stop:
        Operator("http://127.0.0.1:1", token)
    assert stop.value.code == ExitCode.CONFIGURATION
    assert token not in str(stop.value)


def test_a_server_that_is_not_there_may_come_back() -> None:
    with (
        Operator("http://127.0.0.1:1", TOKEN) as operator,
        pytest.raises(Stop, match="cannot be reached") as stop,
    ):
        operator.get("/v1/workers")
    assert stop.value.code == ExitCode.TEMPORARY


@pytest.mark.parametrize("body", [{"a": float("inf")}, {"a": "\ud800"}, {"a": object()}])
def test_what_json_cannot_carry_is_not_sent(body: dict[str, object]) -> None:
    with Operator("http://127.0.0.1:1", TOKEN) as operator, pytest.raises(Stop, match="as JSON") as stop:
        operator.post("/v1/apply", body)
    assert stop.value.code == ExitCode.USAGE


@pytest.mark.parametrize("segment", ["", ".", "..", "\udcff"])
def test_a_name_that_would_make_another_path_is_refused(segment: str) -> None:
    with pytest.raises(Stop, match="is not the name of anything") as stop:
        path("projects", segment)
    assert stop.value.code == ExitCode.USAGE
    assert path("a/b", "..c") == "/v1/a%2Fb/..c"


def test_only_none_is_absent() -> None:
    assert present({"a": None, "b": 0, "c": ""}) == {"b": 0, "c": ""}
