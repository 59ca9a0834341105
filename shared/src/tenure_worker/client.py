"""The protocol client: one call, one answer; and the same call again until there is one.

Every request may be repeated: the ingress recognises a repetition by what it says. So an answer that did not
come (no connection, a cut, an overloaded proxy) is no news at all, and the only ways out of `insist` are an
answer, a refusal that says something else than `retry`, and cancellation.
"""

from __future__ import annotations

import math
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

import anyio
import httpx
import structlog

from tenure_contracts.error import Refusal
from tenure_contracts.wire import codec
from tenure_contracts.wire.problem import Problem
from tenure_worker.credential import Credential
from tenure_worker.settings import Settings

T = TypeVar("T")

log = structlog.get_logger("tenure.worker")

BACKOFF_BASE_S = 0.25
BACKOFF_CAP_S = 15.0
RETRY_AFTER_CAP_S = 120.0


class Unanswered(Exception):  # noqa: N818 - nothing is known to be wrong
    """No answer came, or none that speaks the protocol; nothing is known about the effect."""

    def __init__(self, reason: str, retry_after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


class Refused(Exception):  # noqa: N818 - a refusal is an answer
    """The ingress refused. `disposition` says what to do, `code` why."""

    def __init__(self, problem: Problem, retry_after_s: float = 0.0) -> None:
        super().__init__(f"{problem.code}: {problem.detail}")
        self.code = problem.code
        self.detail = problem.detail
        self.disposition = problem.disposition
        self.retry_after_s = retry_after_s

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed later: a credential may be restored or its file renewed."""
        return self.disposition == "retry" or self.code == "credential_refused"


class Body(httpx.AsyncByteStream):
    """A body sent in one piece.

    httpx sends bytes through an async generator, which stays behind suspended when the connection breaks
    under it, and whoever collects that garbage complains. A plain iterator leaves nothing behind.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __aiter__(self) -> Body:
        return Body(self._content)

    async def __anext__(self) -> bytes:
        content, self._content = self._content, b""
        if not content:
            raise StopAsyncIteration
        return content


@dataclass(frozen=True)
class Client:
    """The calls of one session over one pool of connections."""

    http: httpx.AsyncClient
    credential: Credential
    session: UUID
    answer_timeout_s: float

    async def call(
        self, name: str, message: codec.Request, answer: type[T], *, timeout_s: float | None = None
    ) -> T:
        """Make one request. Raises Unanswered or Refused. `timeout_s` covers all of it."""
        limit_s = self.answer_timeout_s if timeout_s is None else timeout_s
        try:
            with anyio.fail_after(limit_s):
                response = await self.http.send(self._request(name, codec.encode(message)))
        except TimeoutError as error:
            raise Unanswered(f"no answer within {limit_s:g} s") from error
        except (httpx.HTTPError, OSError) as error:
            raise Unanswered(f"{type(error).__name__}: {error}") from error
        return read_answer(response, answer)

    def _request(self, name: str, content: bytes) -> httpx.Request:
        return httpx.Request(
            "POST",
            self.http.base_url.join(f"v1/sessions/{self.session}/{name}"),
            headers={
                "Host": self.http.base_url.netloc.decode(),
                "Authorization": self.credential.bearer(),
                "Content-Type": "application/json",
                "Content-Length": str(len(content)),
                "User-Agent": "tenure-worker",
            },
            stream=Body(content),
        )

    async def insist(
        self,
        name: str,
        message: codec.Request,
        answer: type[T],
        *,
        timeout_s: float | None = None,
        is_patient: bool = True,
    ) -> T:
        """Make the request until there is an answer. Raises Refused for one that repeating cannot change.

        Not patient: a refused credential is such an answer, too.
        """
        tries = 0
        while True:
            try:
                return await self.call(name, message, answer, timeout_s=timeout_s)
            except Unanswered as error:
                retry_after_s, reason = error.retry_after_s, str(error)
            except Refused as error:
                if not (error.is_passing and (is_patient or error.disposition == "retry")):
                    raise
                retry_after_s, reason = error.retry_after_s, str(error)
            wait_s = retry_after_s + backoff_s(tries)
            log.warning(
                "ingress_call_again", call=name, reason=reason, tries=tries + 1, wait_s=round(wait_s, 3)
            )
            await anyio.sleep(wait_s)
            tries += 1


def backoff_s(tries: int) -> float:
    """Full jitter: anything from nothing to the bound that doubles with every try."""
    return random.uniform(0, min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2 ** min(tries, 16)))  # noqa: S311


def read_answer(response: httpx.Response, answer: type[T]) -> T:
    """The answer in a response. Raises Refused for a problem document, Unanswered for anything else."""
    retry_after_s = _retry_after(response.headers.get("Retry-After"))
    try:
        if response.is_success:
            return codec.decode(response.content, answer)
        problem = codec.decode(response.content, Problem)
    except Refusal as error:
        text = f"status {response.status_code} without an answer of the protocol: {error.code}"
        raise Unanswered(text, retry_after_s) from error
    raise Refused(problem, retry_after_s)


def _retry_after(text: str | None) -> float:
    try:
        seconds = float(text or 0)
    except ValueError:
        return 0.0  # a date, which no ingress sends
    return min(max(seconds, 0.0), RETRY_AFTER_CAP_S) if math.isfinite(seconds) else 0.0


@asynccontextmanager
async def open_client(
    settings: Settings, credential: Credential, session: UUID, *, connections: int
) -> AsyncIterator[Client]:
    """Open a client with at most so many connections of its own, until the block ends."""
    is_tls = settings.ingress_url.startswith("https:")
    async with httpx.AsyncClient(
        base_url=settings.ingress_url,
        timeout=None,  # noqa: S113 - every call has one deadline over all its parts
        trust_env=False,
        verify=ssl.create_default_context() if is_tls else False,
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
    ) as http:
        yield Client(http, credential, session, settings.answer_timeout_s)
