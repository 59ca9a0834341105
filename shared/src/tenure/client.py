"""The operator API as the command line uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from tenure.exit import FAILED, TEMPORARY, Stop
from tenure.where import find

TIMEOUT_S = 30.0


class Operator:
    """One connection to the operator API. Every method raises Stop with the API's own sentence."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self._http = httpx.Client(
            base_url=find("TENURE_CONTROL_URL", url),
            headers={"Authorization": f"Bearer {find('TENURE_OPERATOR_TOKEN', token)}"},
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
        return self._send(
            "GET", path, params={name: value for name, value in query.items() if value is not None}
        )

    def post(self, path: str, body: object) -> Any:
        """POST a body as JSON."""
        return self._send("POST", path, json=body)

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
            sentence = f"{self._http.base_url} cannot be reached: {error}"
            raise Stop(sentence, TEMPORARY) from error
        if answer.is_success:
            return answer.json()
        raise refused(answer)


class Refused(Stop):
    """The API refused. `problem` is its problem document, empty when it sent none."""

    def __init__(self, sentence: str, code: int, problem: dict[str, Any]) -> None:
        super().__init__(sentence, code)
        self.problem = problem


def refused(answer: httpx.Response) -> Refused:
    """The refusal in an answer, with exit code 75 where trying again later may help."""
    try:
        problem = answer.json()
    except json.JSONDecodeError:
        problem = {}
    sentence = f"{problem.get('code', answer.status_code)}: {problem.get('detail', answer.reason_phrase)}"
    return Refused(sentence, TEMPORARY if problem.get("disposition") == "retry" else FAILED, problem)


def path(*segments: str) -> str:
    """A path of the API from its segments, each escaped whole."""
    return "/v1/" + "/".join(quote(segment, safe="") for segment in segments)
