"""Rows to begin a test with: projects, tasks, triggers, workers' credentials, runs.

    seed = Seed(database)
    seed.task("report", command=["report", "{{ input.day }}"], retry={"max_attempts": 3})
    run = seed.run("report", {"day": 1})
    token = seed.credential("w1")                       # a bearer token for the worker protocol
    assert seed.status(run) == ("queued", "claimed")

Definitions are compiled by the contracts package and runs are admitted by `tenure.admit_run`, so what stands
in the database afterwards is what the product would have written. Everything happens at once, as the
administrator and without `await`.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

import asyncpg
import msgspec
from uuid6 import uuid7

from tenure_contracts.definition import CompiledTask, compile_task, compile_trigger, read_task, read_trigger
from tenure_contracts.digest import PLAN_DOMAIN, canonical_json, digest_of_text
from tenure_contracts.identity import parse_worker_token, worker_token
from tenure_contracts.plan import encode_plan
from tenure_contracts.template import render_plan
from tests.harness.database import ScratchDatabase

PROJECT: Final = "shop"
"""Where everything belongs that is not told otherwise. It exists when the first task does."""

ACTOR: Final = "system"


SETTLE_LOST: Final = """
WITH lost AS (
    UPDATE tenure.run_attempts SET status = 'lost', ended_at = tenure.clock()
    WHERE attempt = $1::uuid AND status IN ('starting', 'running') RETURNING run
), released AS (
    UPDATE tenure.run_leases SET state = 'released', release_reason = 'lease_expired', version = version + 1
    WHERE attempt = $1 AND state = 'leased'
), moved AS (
    UPDATE tenure.runs r SET status = 'lost', version = r.version + 2, event_sequence = r.event_sequence + 2
    FROM lost WHERE r.run = lost.run RETURNING r.run, r.event_sequence
)
INSERT INTO tenure.run_events
SELECT m.run, m.event_sequence - 2 + i.number, i.machine || '.lost', NULL, 'lost', $2::text, tenure.clock(),
       i.machine || '-lost', '{}'
FROM moved m, (VALUES (1, 'attempt'), (2, 'run')) AS i (number, machine)
"""


@dataclass(frozen=True, slots=True)
class SeededRun:
    """A run that was admitted, and its first attempt."""

    run: UUID
    attempt: UUID


class Seed:
    """Writes rows into one test database."""

    def __init__(self, database: ScratchDatabase) -> None:
        self.database = database
        self.tasks: dict[tuple[str, str], tuple[int, CompiledTask]] = {}

    def project(self, name: str = PROJECT, *, weight: int = 1) -> str:
        """A project with its share of each priority, unless it exists."""
        self.database.execute(
            "INSERT INTO tenure.projects (project, weight, created_at) VALUES ($1, $2, tenure.clock())"
            " ON CONFLICT DO NOTHING",
            name,
            weight,
        )
        self.database.execute(
            "INSERT INTO tenure.project_shares (project, priority) SELECT $1, generate_series(0, 9)"
            " ON CONFLICT DO NOTHING",
            name,
        )
        return name

    def task(
        self, name: str, *, project: str = PROJECT, command: Sequence[str] | None = None, **definition: Any
    ) -> int:
        """The next revision of a task; its number. Keywords are those of a definition file.

        Without `command` and `handler` the command is `true`.
        """
        if command is None and "handler" not in definition:
            command = ["true"]
        if command is not None:
            definition["command"] = list(command)
        compiled = compile_task(name, read_task(definition))
        self.project(project)
        revision = self._next_revision("task", project, name)
        self.database.rows(
            "INSERT INTO tenure.task_revisions VALUES"
            " ($1, $2, $3, $4, $5, tenure.placement_class($6, $7::text::jsonb), $8, $9, $10::text::jsonb,"
            "  $11, $12, tenure.clock())",
            project,
            name,
            revision,
            compiled.digest,
            compiled.spec_json,
            compiled.placement_digest,
            canonical_json(compiled.placement).decode(),
            compiled.priority,
            compiled.timeout_us,
            msgspec.json.encode(compiled.spec.retry).decode(),
            uuid7(),
            ACTOR,
        )
        self.tasks[project, name] = revision, compiled
        return revision

    def trigger(
        self, name: str, task: str, *, cron: str = "* * * * *", project: str = PROJECT, **definition: Any
    ) -> int:
        """The next revision of a trigger for a seeded task; its number. Its cursor is due at once."""
        definition = {"task": task, "cron": cron, "timezone": "UTC", **definition}
        compiled = compile_trigger(name, read_trigger(definition))
        task_revision, compiled_task = self.tasks[project, task]
        revision = self._next_revision("trigger", project, name)
        self.database.rows(
            "INSERT INTO tenure.trigger_revisions VALUES"
            " ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, tenure.clock())",
            project,
            name,
            revision,
            compiled.digest,
            compiled.spec_json,
            task,
            task_revision,
            compiled_task.digest,
            uuid7(),
            ACTOR,
        )
        self.database.rows(
            "INSERT INTO tenure.trigger_cursors (project, trigger, revision, due_at)"
            " VALUES ($1, $2, $3, CASE WHEN $4 THEN tenure.clock() END)"
            " ON CONFLICT (project, trigger) DO UPDATE"
            " SET revision = excluded.revision, due_at = excluded.due_at, next_fire_at = NULL",
            project,
            name,
            revision,
            compiled.spec.enabled,
        )
        return revision

    def credential(self, worker: str, *, credential: str | None = None) -> str:
        """A worker and one more credential for it: the bearer token. An existing credential is rotated."""
        credential = credential or secrets.token_hex(6)
        token = worker_token(credential, secrets.token_bytes(32))
        self.database.execute(
            "INSERT INTO tenure.workers (worker, created_at) VALUES ($1, tenure.clock())"
            " ON CONFLICT DO NOTHING",
            worker,
        )
        self.database.execute(
            "INSERT INTO tenure.worker_credentials"
            " (credential, version, worker, digest, not_before, request_id, created_by, created_at)"
            " SELECT $1, count(*) + 1, $2, $3, tenure.clock(), $4, $5, tenure.clock()"
            " FROM tenure.worker_credentials WHERE credential = $1",
            credential,
            worker,
            parse_worker_token(token).secret_digest,
            uuid4(),
            ACTOR,
        )
        return token

    def run(
        self,
        task: str,
        input_: object = None,
        *,
        project: str = PROJECT,
        key: str | None = None,
        priority: int | None = None,
        ids: SeededRun | None = None,
    ) -> SeededRun:
        """One run of the newest revision of a seeded task, with a dispatchable attempt; each is a new one.

        `ids` are made up unless they are given.
        """
        revision, compiled = self.tasks[project, task]
        plan = encode_plan(render_plan(compiled.plan, {"input": input_}))
        ids = ids or SeededRun(uuid7(), uuid7())
        (admitted,) = self.database.rows(
            "SELECT * FROM tenure.admit_run($1, $2, $3, $4, $5, 'manual', NULL, NULL, NULL, NULL, $6, NULL,"
            " $7, $8, $9, $10::text::jsonb, $11)",
            ids.run,
            ids.attempt,
            project,
            task,
            revision,
            key or str(ids.run),
            priority,
            plan,
            digest_of_text(PLAN_DOMAIN, plan),
            json.dumps(input_),
            ACTOR,
        )
        assert admitted["created"], f"the run was not admitted: {admitted['refusal']}"
        return ids

    def runs(self, task: str, count: int, input_: object = None, **keywords: Any) -> list[SeededRun]:
        """Many runs of one task."""
        return [self.run(task, input_, **keywords) for _ in range(count)]

    def request_cancel(self, run: SeededRun, reason: str = "user") -> None:
        """A cancel intent on a run and its copy on the lease, as the operator surface sets them."""
        self.database.execute(
            "UPDATE tenure.runs SET cancel_requested_at = tenure.clock(), cancel_reason = $2 WHERE run = $1",
            run.run,
            reason,
        )
        self.database.execute(
            "UPDATE tenure.run_leases SET stop_reason = $2, stop_requested_at = tenure.clock()"
            " WHERE attempt = $1 AND state = 'leased' AND stop_reason IS NULL",
            run.attempt,
            reason,
        )

    def settle_lost(self, run: SeededRun) -> None:
        """What recovery does on proof that an attempt is gone: attempt and run lost, the lease released."""
        self.database.rows(SETTLE_LOST, run.attempt, ACTOR)

    def status(self, run: SeededRun) -> tuple[str, str]:
        """The status of a run and of its first attempt."""
        row = self.database.rows(
            "SELECT r.status AS run, a.status AS attempt FROM tenure.runs r"
            " JOIN tenure.run_attempts a ON a.run = r.run WHERE a.attempt = $1",
            run.attempt,
        )[0]
        return row["run"], row["attempt"]

    def lease(self, run: SeededRun) -> asyncpg.Record:
        """The lease row of a run's first attempt, which exists after the first claim."""
        (row,) = self.database.rows("SELECT * FROM tenure.run_leases WHERE attempt = $1", run.attempt)
        return row

    def expiry(self, run: SeededRun) -> datetime:
        """When the lease of a run's first attempt ends."""
        expires_at: datetime = self.lease(run)["expires_at"]
        return expires_at

    def events(self, run: SeededRun) -> list[str]:
        """The types of a run's events, in order. Fails when their sequence has a gap."""
        rows = self.database.rows(
            "SELECT sequence, type FROM tenure.run_events WHERE run = $1 ORDER BY sequence", run.run
        )
        assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1)), "the events have a gap"
        return [row["type"] for row in rows]

    def _next_revision(self, kind: str, project: str, name: str) -> int:
        revision: int = self.database.value(
            f"INSERT INTO tenure.{kind}_heads AS h (project, {kind}, current_revision, created_at)"
            " VALUES ($1, $2, 1, tenure.clock())"
            f" ON CONFLICT (project, {kind}) DO UPDATE SET current_revision = h.current_revision + 1"
            " RETURNING current_revision",
            project,
            name,
        )
        return revision
