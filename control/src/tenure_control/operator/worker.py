"""Workers and their credentials."""

from __future__ import annotations

from typing import Final

from msgspec import structs

from tenure_contracts.error import Refusal
from tenure_contracts.identity import WORKER_SECRET_DOMAIN, worker_token
from tenure_contracts.operator.page import Requested
from tenure_contracts.operator.worker import Issued, Worker
from tenure_contracts.wire.codec import decode
from tenure_control.operator.answer import answer
from tenure_control.operator.gate import check, demand, named, new_name
from tenure_control.operator.page import after_name, asked_page, page
from tenure_control.operator.secret import Secret, new_id, new_secret
from tenure_control.operator.surface import Surface
from tenure_control.operator.view import credential_of, session_of, worker_of
from tenure_control.repository.access.audit import record
from tenure_control.repository.access.caller import admit_caller
from tenure_control.repository.credential import credential as stored
from tenure_control.repository.session import session as sessions
from tenure_control.repository.view import workers as views
from tenure_http import Request, Response
from tenure_postgres.database import Connection, Row

SESSIONS_SHOWN: Final = 32


async def show_all(surface: Surface, request: Request) -> Response:
    """Workers by name, with their current sessions."""
    needed = demand(request, "viewer")
    asked = asked_page(request)
    after = after_name(asked)

    async def unit(connection: Connection) -> list[Row]:
        await admit_caller(connection, needed)
        return await views.list_workers(connection, after, asked.limit + 1)

    return answer(page(await surface.database.fetch(unit), asked, "worker", worker_of))


async def show(surface: Surface, request: Request) -> Response:
    """One worker, with its newest sessions."""
    needed = demand(request, "viewer")
    name = named(request, "worker")

    async def unit(connection: Connection) -> Worker:
        await admit_caller(connection, needed)
        return await _shown(connection, name)

    return answer(await surface.database.fetch(unit))


async def drain(surface: Surface, request: Request) -> Response:
    """Ask the worker's live session to take nothing more; a later session of it is not meant."""
    needed = demand(request, "operator")
    await check(surface, needed)
    name, body = named(request, "worker"), _body(request)

    async def unit(connection: Connection) -> Worker:
        operator = await admit_caller(connection, needed)
        await _shown(connection, name)
        is_new = await record(connection, operator, "drain", f"worker:{name}", request_id=body.request_id)
        if is_new and not await sessions.request_drain(connection, name):
            raise Refusal("state_conflict", f"Worker {name} has no live session.")
        return await _shown(connection, name)

    worker = await surface.database.transact(unit)
    if worker.session is not None and worker.session.drain_requested:
        surface.recall(worker.session.session)
    return answer(worker)


async def show_credentials(surface: Surface, request: Request) -> Response:
    """The credentials of a worker."""
    needed = demand(request, "viewer")
    name, asked = named(request, "worker"), asked_page(request)
    after = after_name(asked)

    async def unit(connection: Connection) -> list[Row]:
        await admit_caller(connection, needed)
        return await stored.list_credentials(connection, name, after, asked.limit + 1)

    return answer(page(await surface.database.fetch(unit), asked, "credential", credential_of))


async def issue(surface: Surface, request: Request) -> Response:
    """A new credential, and the worker with it: the token is shown in this answer and never again."""
    needed = demand(request, "admin")
    await check(surface, needed)
    worker, body = new_name(request, "worker"), _body(request)
    credential = new_id()
    secret = _new_secret(credential)

    async def unit(connection: Connection) -> Issued:
        operator = await admit_caller(connection, needed)
        target = f"worker:{worker}"
        if not await record(connection, operator, "issue", target, request_id=body.request_id):
            return await _replay(connection, body)
        await stored.make_worker(connection, worker)
        await stored.append_version(
            connection, credential, 1, worker, secret.digest, body.request_id, operator
        )
        return Issued(credential=credential, worker=worker, version=1, token=secret.token)

    issued = await surface.database.transact(unit)
    return answer(issued, 200 if issued.replayed else 201)


async def rotate(surface: Surface, request: Request) -> Response:
    """A new secret for a credential; the old one ends at once. Shown once, as at issue."""
    needed = demand(request, "admin")
    await check(surface, needed)
    worker, body, credential = named(request, "worker"), _body(request), request.parameters["credential"]

    async def unit(connection: Connection) -> Issued:
        operator = await admit_caller(connection, needed)
        newest = await _taken(connection, credential, worker)
        target = f"worker:{worker}/credential:{credential}"
        if not await record(connection, operator, "rotate", target, request_id=body.request_id):
            return await _replay(connection, body)
        if newest["state"] != "active":
            raise Refusal("state_conflict", "The credential is revoked. Issue a new one.")
        secret, version = _new_secret(credential), newest["version"] + 1
        await stored.append_version(
            connection, credential, version, worker, secret.digest, body.request_id, operator
        )
        return Issued(credential=credential, worker=worker, version=version, token=secret.token)

    issued = await surface.database.transact(unit)
    return answer(issued, 200 if issued.replayed else 201)


async def revoke(surface: Surface, request: Request) -> Response:
    """End a credential. What its worker runs goes on, and it can report nothing more."""
    needed = demand(request, "admin")
    await check(surface, needed)
    worker, body, credential = named(request, "worker"), _body(request), request.parameters["credential"]

    async def unit(connection: Connection) -> Row:
        operator = await admit_caller(connection, needed)
        await _taken(connection, credential, worker)
        target = f"worker:{worker}/credential:{credential}"
        await record(connection, operator, "revoke", target, request_id=body.request_id)
        await stored.revoke(connection, credential, worker)
        return await _taken(connection, credential, worker)

    return answer(credential_of(await surface.database.transact(unit)))


async def _shown(connection: Connection, name: str) -> Worker:
    row = await views.show_worker(connection, name)
    if row is None:
        raise Refusal("not_found", f"There is no worker {name}.")
    newest = await views.list_sessions(connection, name, SESSIONS_SHOWN)
    return structs.replace(worker_of(row), sessions=[session_of(each) for each in newest])


def _new_secret(credential: str) -> Secret:
    return new_secret(WORKER_SECRET_DOMAIN, worker_token, credential)


def _body(request: Request) -> Requested:
    body = decode(request.body, Requested)
    request.adopt_id(str(body.request_id))
    return body


async def _taken(connection: Connection, credential: str, worker: str) -> Row:
    newest = await stored.take_credential(connection, credential, worker)
    if newest is None:
        raise Refusal("not_found", f"Worker {worker} has no such credential.")
    return newest


async def _replay(connection: Connection, body: Requested) -> Issued:
    row = await stored.version_of_request(connection, body.request_id)
    if row is None:
        raise Refusal("idempotency_conflict", "This request_id was used for something else.")
    return Issued(credential=row["credential"], worker=row["worker"], version=row["version"], replayed=True)
