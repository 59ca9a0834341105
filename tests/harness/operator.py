"""The operator API in this process: the real routes over a test's database, without a socket.

    async with open_operator(database) as api:
        await api.owner.put("/v1/projects/shop", {})
        viewer = await api.enrol("vera", "viewer", "shop")
        answer = await viewer.get("/v1/projects/shop/runs")
        assert answer.json["items"] == []

A call goes through the route table and the checks that the server makes before it reads a body; refusals come
back as the problem documents that a client would see.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tenure_contracts.error import Refusal
from tenure_control.operator import Surface, enrol_operator, operator_routes
from tenure_control.repository.access.caller import EVERY_PROJECT, Role
from tenure_http import Head, Request, Router, problem
from tenure_http.head import check_body
from tests.harness.database import ScratchDatabase


@dataclass(frozen=True)
class Answer:
    """What a client gets."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a refusal."""
        assert self.json["status"] == self.status
        return str(self.json["code"])

    @property
    def errors(self) -> dict[str, str]:
        """The faults of refused definitions: reason by path."""
        return {error["path"]: error["reason"] for error in self.json["errors"]}


class OperatorClient:
    """One operator. `token` may be replaced, also by None: no token at all."""

    def __init__(self, router: Router, token: str | None) -> None:
        self._router = router
        self.token = token

    async def get(self, path: str) -> Answer:
        """GET a path, with its query."""
        return await self.call("GET", path)

    async def put(self, path: str, body: object, **headers: str) -> Answer:
        """PUT a body as JSON; `if_match="3"` is the header If-Match."""
        return await self.call("PUT", path, json.dumps(body).encode(), **headers)

    async def post(self, path: str, body: object) -> Answer:
        """POST a body as JSON."""
        return await self.call("POST", path, json.dumps(body).encode())

    async def pages(self, path: str, **query: object) -> list[Any]:
        """Every item of a list, page after page."""
        items: list[Any] = []
        while True:
            asked = "&".join(f"{name}={value}" for name, value in query.items())
            answer = await self.get(f"{path}?{asked}" if asked else path)
            assert answer.status == 200, answer.body
            items += answer.json["items"]
            if answer.json["next"] is None:
                return items
            query["cursor"] = answer.json["next"]

    async def call(self, method: str, target: str, body: bytes | None = None, **headers: str) -> Answer:
        """Any call, with the bytes of its body; None: without one."""
        path, _, query = target.partition("?")
        head = Head(
            method=method,
            target=target,
            path=path,
            query_string=query,
            headers=self._headers(body, headers),
            peer="test",
            content_length=None if body is None else len(body),
            chunked=False,
            keep_alive=True,
        )
        try:
            match = self._router(head)
            check_body(head, match.route)
            request = Request(head, match.route.name, match.parameters, body or b"")
            response = await match.route.handler(request)
        except Refusal as refusal:
            response = problem(refusal, head.id)
        return Answer(response.status, dict(response.headers), response.body)

    def _headers(self, body: bytes | None, more: Mapping[str, str]) -> dict[bytes, bytes]:
        headers = {name.replace("_", "-"): value for name, value in more.items()}
        if self.token is not None:
            headers.setdefault("authorization", f"Bearer {self.token}")
        if body is not None:
            headers.setdefault("content-type", "application/json")
        return {name.encode(): value.encode() for name, value in headers.items()}


@dataclass
class OperatorApi:
    """The API of one database. `owner` may do everything; the counters tell whom it told after commits."""

    database: ScratchDatabase
    router: Router
    owner: OperatorClient
    cycles: list[object] = field(default_factory=list)
    woken: int = 0
    dispatched: int = 0
    recalled: list[str] = field(default_factory=list)

    async def enrol(self, name: str, role: Role, project: str = EVERY_PROJECT) -> OperatorClient:
        """One more operator, with a role in one project or in all."""
        async with self.database.open("tenure_migrate", size=1) as opened:
            token = await enrol_operator(opened, name, role=role, project=project)
        return OperatorClient(self.router, token)

    def wake(self) -> None:
        """Counts."""
        self.woken += 1

    def dispatch(self) -> None:
        """Counts."""
        self.dispatched += 1


@asynccontextmanager
async def open_operator(database: ScratchDatabase, *, size: int = 4) -> AsyncIterator[OperatorApi]:
    """Have the API of a database for the block, with an owner called `root`. `size`: connections at most."""
    async with database.open("tenure_operator", size=size) as opened:
        api = OperatorApi(database, Router(()), OperatorClient(Router(()), None))
        surface = Surface(opened, api.wake, api.dispatch, lambda: api.cycles, api.recalled.append)
        api.router = Router(operator_routes(surface))
        api.owner = await api.enrol("root", "owner")
        yield api
