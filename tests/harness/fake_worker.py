"""A scripted worker over HTTP: one method per call of the worker protocol; it does nothing by itself.

    async with open_fake_worker(ingress.url, token) as worker:
        await worker.register(labels={"region": "eu"}, limit=4)
        (work,) = await worker.pull()
        await worker.starting(work)
        await worker.running(work)
        with refused("content_conflict"):
            await worker.running(work, executor_handle="pid:2")
        await worker.complete(work, output={"rows": 3})

Answers are the JSON that came. A refusal raises `Refused`, and `refused(code)` expects one, with the status
and the disposition that the contract gives the code. A call repeated with the same arguments is a replay:
times and handles belong to the work, and only the request id is new. `call` sends anything else.
"""

from __future__ import annotations

import secrets
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

import httpx

from tenure_contracts.error import CODES
from tenure_contracts.identity import encode_secret
from tenure_worker.client import Body

JSON: Final = {"Content-Type": "application/json"}
TIMEOUT_S: Final = 20.0

PLAIN: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Without the world's certificates: nobody needs them here, and reading them takes 40 ms."""


class Refused(Exception):  # noqa: N818 - an answer of the server, not an error of the test
    """The server answered with a problem document."""

    def __init__(self, response: httpx.Response) -> None:
        self.problem: dict[str, Any] = response.json()
        self.status = response.status_code
        self.headers = response.headers
        super().__init__(f"{self.status} {self.problem}")

    @property
    def code(self) -> str:
        """The code of the refusal."""
        return str(self.problem["code"])


@contextmanager
def refused(code: str) -> Iterator[list[Refused]]:
    """Expect a refusal, exactly as the contract writes it; the list has it afterwards."""
    caught: list[Refused] = []
    try:
        yield caught
    except Refused as answer:
        caught.append(answer)
    assert caught, f"not refused; expected {code}"
    (refusal,) = caught
    rule = CODES[code]
    assert (refusal.code, refusal.status) == (code, rule.status), str(refusal)
    assert refusal.problem["disposition"] == rule.disposition
    assert ("Retry-After" in refusal.headers) == (refusal.status == 503 or rule.retry_after_s is not None)


@dataclass
class Work:
    """One offered attempt and its lease. Change a field to present a wrong fence."""

    attempt: str
    run: str
    offer: str
    token: str
    lease_generation: int
    lease_version: int
    facts: Mapping[str, Any] = field(repr=False)
    executor_handle: str = "pid:4711"
    started_at: str = field(default_factory=lambda: now())
    finished_at: str = field(default_factory=lambda: now())

    @property
    def fence(self) -> dict[str, Any]:
        """The fence as the protocol wants it."""
        return {
            "attempt": self.attempt,
            "offer": self.offer,
            "token": self.token,
            "lease_generation": self.lease_generation,
            "lease_version": self.lease_version,
        }

    @property
    def plan(self) -> Mapping[str, Any]:
        """What to execute."""
        plan: Mapping[str, Any] = self.facts["plan"]
        return plan

    def with_(self, **changes: Any) -> Work:
        """A copy that differs."""
        return Work(**{**self.__dict__, **changes})


class FakeWorker:
    """One session of a worker. `generation` is known after `register`; `session` may be replaced by hand."""

    def __init__(self, http: httpx.AsyncClient, token: str) -> None:
        self.http = http
        self.token = token
        self.session = str(uuid4())
        self.generation = 1

    def another(self) -> FakeWorker:
        """A new session of the same worker, not registered yet: what a restarted process would be."""
        return FakeWorker(self.http, self.token)

    async def register(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        executors: Sequence[str] = ("command", "handler"),
        handlers: Sequence[str] = (),
        limit: int = 8,
        **more: Any,
    ) -> Any:
        """Register this session; further keywords are fields of the body (`takeover`, `session_lease_s`)."""
        answer = await self.call(
            "register",
            labels=dict(labels or {}),
            executors=list(executors),
            handlers=list(handlers),
            limit=limit,
            agent="fake-worker/1",
            **more,
        )
        self.generation = answer["generation"]
        return answer

    async def heartbeat(self) -> Any:
        """Extend the session."""
        return await self._of_session("heartbeat")

    async def drain(self) -> Any:
        """Take no more work."""
        return await self._of_session("drain")

    async def offline(self) -> Any:
        """End the session."""
        return await self._of_session("offline")

    async def offers(self, offers: Sequence[Mapping[str, str]], **more: Any) -> Any:
        """Pull with offers of one's own making; the whole answer."""
        return await self._of_session("offers", offers=list(offers), **more)

    async def pull(self, count: int = 1) -> list[Work]:
        """Pull with fresh offers; what was offered, possibly nothing."""
        offers = fresh_offers(count)
        return work_of(await self.offers(offers), offers)

    async def decline(self, *work: Work, reason: str = "declined") -> Any:
        """Give unstarted work back."""
        return await self._of_session("decline", leases=[each.fence for each in work], reason=reason)

    async def starting(self, work: Work) -> Any:
        """Cross the start barrier."""
        return await self._of_lease("starting", work)

    async def running(self, work: Work, **changes: Any) -> Any:
        """Say that the process exists."""
        body = {"executor_handle": work.executor_handle, "started_at": work.started_at, **changes}
        return await self._of_lease("running", work, **body)

    async def start_failure(self, work: Work, code: str = "not_found", message: str = "no such file") -> Any:
        """Say that nothing was spawned."""
        return await self._of_lease("start-failure", work, error={"code": code, "message": message})

    async def start(self, work: Work) -> None:
        """`starting` and `running`."""
        await self.starting(work)
        await self.running(work)

    async def renew(self, *work: Work) -> Any:
        """Renew leases; their versions are brought up to date. The whole answer."""
        answer = await self._of_session("renew", leases=[each.fence for each in work])
        for each, lease in zip(work, answer["leases"], strict=True):
            each.lease_version = lease["lease_version"] or each.lease_version
        return answer

    async def complete(self, work: Work, outcome: str = "succeeded", **changes: Any) -> Any:
        """Report the end; keywords are fields of the body."""
        body = {
            "outcome": outcome,
            "exit_code": 0 if outcome == "succeeded" else 1,
            "started_at": work.started_at,
            "finished_at": work.finished_at,
            "output": None,
            "error": None,
            "log": None,
            "stop_answer": None,
            **changes,
        }
        return await self._of_lease("complete", work, **body)

    async def attest(self, work: Work, state: str = "running", sequence: int = 1, **changes: Any) -> Any:
        """State that it runs or that it stopped; the lease's version is brought up to date."""
        fence = {name: value for name, value in work.fence.items() if name != "lease_version"}
        body = {"observed_at": work.finished_at, "scope": "group", **fence, **changes}
        answer = await self.call("attest", state=state, sequence=sequence, **body)
        if answer["lease"]:
            work.lease_version = answer["lease"]["lease_version"]
        return answer

    async def leases(self) -> list[Any]:
        """What the session holds."""
        answer: list[Any] = (await self._of_session("leases"))["leases"]
        return answer

    async def exchange(self, *items: Mapping[str, Any]) -> list[Any]:
        """Several calls in one request, made with `item`; one answer each."""
        answer: list[Any] = (await self._of_session("exchange", items=list(items)))["items"]
        return answer

    async def call(self, name: str, **body: Any) -> Any:
        """Any call of this session, with a fresh request id unless one is given. Raises Refused."""
        response = await self.send(name, {"request_id": str(uuid4()), **body})
        if response.status_code != 200:
            raise Refused(response)
        return response.json()

    async def send(self, name: str, body: Any = None, **how: Any) -> httpx.Response:
        """One request as it is, with `content` and `headers` as httpx takes them."""
        how.setdefault("headers", {"Authorization": f"Bearer {self.token}", **JSON})
        if body is not None:
            how["json"] = body
        request = self.http.build_request("POST", f"/v1/sessions/{self.session}/{name}", **how)
        if body is not None:
            # A body that leaves nothing behind when its connection is cut.
            request.stream = Body(request.content)
        return await self.http.send(request)

    async def _of_session(self, name: str, **body: Any) -> Any:
        return await self.call(name, generation=self.generation, **body)

    async def _of_lease(self, name: str, work: Work, **body: Any) -> Any:
        answer = await self._of_session(name, lease=work.fence, **body)
        work.lease_version = answer.get("lease_version") or work.lease_version
        return answer


def item(call: str, *work: Work, **body: Any) -> dict[str, Any]:
    """One item of an exchange; `renew` takes many works, calls without an attempt take none."""
    fences = [each.fence for each in work]
    about = {"leases": fences} if call == "renew" else {"lease": fences[0]} if fences else {}
    return {"call": call, "request_id": str(uuid4()), **about, **body}


def fresh_offers(count: int = 1) -> list[dict[str, str]]:
    """New offer ids with new lease tokens."""
    return [{"offer": str(uuid4()), "token": encode_secret(secrets.token_bytes(32))} for _ in range(count)]


def work_of(answer: Any, offers: Sequence[Mapping[str, str]]) -> list[Work]:
    """The work that a pull's answer offers, with the tokens that belong to it."""
    tokens = {offer["offer"]: offer["token"] for offer in offers}
    return [
        Work(
            attempt=each["attempt"]["attempt"],
            run=each["attempt"]["run"],
            offer=each["offer"],
            token=tokens[each["offer"]],
            lease_generation=each["lease"]["lease_generation"],
            lease_version=each["lease"]["lease_version"],
            facts=each,
        )
        for each in answer["offered"]
    ]


def now() -> str:
    """The time in the protocol's spelling."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


@asynccontextmanager
async def open_fake_worker(url: str, token: str) -> AsyncIterator[FakeWorker]:
    """Have a worker for the block. It says nothing until it is told to, and no goodbye at the end."""
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=TIMEOUT_S, verify=PLAIN) as http:
        yield FakeWorker(http, token)
