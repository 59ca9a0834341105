"""The operator API as the command line uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from tenure.exit import Stop
from tenure.where import find
from tenure_process.exit import ExitCode

TIMEOUT_S = 30.0


class Operator:
    """One connection to the operator API. Every method raises Stop with the API's own sentence."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self._http = httpx.Client(
            base_url=_base_url(find("TENURE_CONTROL_URL", url)),
            headers={"Authorization": f"Bearer {_header(find('TENURE_OPERATOR_TOKEN', token))}"},
            timeout=TIMEOUT_S,
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, path: str, **query: str | int | None) -> Any:
        """GET a path with the query parameters that are not None."""
        return self._send("GET", path, params=present(query))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """POST a body as JSON. Raises Stop (64) for one that JSON cannot carry."""
        headers = {"Content-Type": "application/json"}
        return self._send("POST", path, content=_encode(body), headers=headers)

    def pages(self, path: str, **query: str | int | None) -> Iterator[Any]:
        """Every item of a list, page after page."""
        cursor: str | None = None
        while True:
            page = self.get(path, cursor=cursor, **query)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def _send(self, method: str, path: str, **request: Any) -> Any:
        try:
            answer = self._http.request(method, path, **request)
        except httpx.HTTPError as error:
            sentence = f"control at {self._http.base_url} cannot be reached: {error}"
            raise Stop(sentence, ExitCode.TEMPORARY) from error
        try:
            body = answer.json()
        except ValueError:
            raise self._stranger() from None
        if answer.is_success:
            return body
        refusal = _refused(answer, body)
        raise self._stranger() if refusal.problem.get("code") == "unknown_route" else refusal

    def _stranger(self) -> Stop:
        sentence = f"{self._http.base_url} does not answer as control does: is TENURE_CONTROL_URL right?"
        return Stop(sentence, ExitCode.CONFIGURATION)


class Refused(Stop):
    """The API refused. `problem` is its problem document, empty when it sent none."""

    def __init__(self, sentence: str, code: int, problem: dict[str, Any]) -> None:
        super().__init__(sentence, code)
        self.problem = problem


def path(*segments: str) -> str:
    """A path of the API from its segments, each escaped whole. Raises Stop (64): one names nothing."""
    if wrong := [segment for segment in segments if segment in ("", ".", "..") or not _is_text(segment)]:
        raise Stop(f"{wrong[0]!r} is not the name of anything", ExitCode.USAGE)
    return "/v1/" + "/".join(quote(segment, safe="") for segment in segments)


def present(values: dict[str, Any]) -> dict[str, Any]:
    """What is not None: the API takes an absent field for its default, and null for a wrong value."""
    return {name: value for name, value in values.items() if value is not None}


def _refused(answer: httpx.Response, body: Any) -> Refused:
    """The refusal in an answer, with exit code 75 where trying again later may help."""
    problem: dict[str, Any] = body if isinstance(body, dict) else {}
    sentence = f"{problem.get('code', answer.status_code)}: {problem.get('detail', answer.reason_phrase)}"
    code = ExitCode.TEMPORARY if problem.get("disposition") == "retry" else ExitCode.FAILED
    return Refused(sentence, code, problem)


def _encode(body: dict[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Stop(f"this cannot be sent as JSON: {error}", ExitCode.USAGE) from error


def _is_text(value: str) -> bool:
    """Whether it is Unicode: an argument that is not has lone surrogates for its bytes."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _base_url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError):
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host or (url.port or 0) > 65535:
        sentence = f"TENURE_CONTROL_URL must be an address such as http://127.0.0.1:7400, not {text!r}"
        raise Stop(sentence, ExitCode.CONFIGURATION)
    return url


def _header(token: str) -> str:
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise Stop(
            "TENURE_OPERATOR_TOKEN is not a token: it has characters that none has", ExitCode.CONFIGURATION
        )
    return token
