"""The real side: an ingress over a database with a clock that stands still, and stages of control.

A machine calls it from a thread of its own, and blocks. One database serves every example; each begins by
removing what the one before left.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

import trio

from tenure_control.stage import cancellation, recovery, retry
from tests.harness import ScratchDatabase
from tests.harness.control import StageParts
from tests.harness.seed import Seed, SeededRun
from tests.model.state import Json, Task

CLOCK: Final = """
CREATE OR REPLACE FUNCTION tenure.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$ SELECT '2030-01-01 00:00:00Z'::timestamptz + interval '{seconds} seconds' $$
"""

FORGET: Final = """
SET LOCAL session_replication_role = replica;
DELETE FROM tenure.run_events;
DELETE FROM tenure.attestations;
DELETE FROM tenure.attempt_declines;
DELETE FROM tenure.spent_offers;
DELETE FROM tenure.recovery_controls;
DELETE FROM tenure.run_leases;
DELETE FROM tenure.run_attempts;
DELETE FROM tenure.run_retry_policies;
DELETE FROM tenure.runs;
DELETE FROM tenure.worker_sessions;
DELETE FROM tenure.security_audit_events;
UPDATE tenure.workers SET session_generation = 0, last_takeover_at = NULL;
"""

LOOK: Final = """
CREATE FUNCTION tenure.look() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    start CONSTANT timestamptz := '2030-01-01 00:00:00Z';
BEGIN
    RETURN json_build_object(
        'sessions', (SELECT json_object_agg(s.session, json_build_array(
            s.worker, s.generation, s.status, s.version, extract(epoch FROM s.expires_at - start)::int))
            FROM tenure.worker_sessions s),
        'runs', (SELECT json_object_agg(r.run, json_build_array(
            r.status, r.version, e.events, e.last, r.unstarted_claims, r.cancel_reason,
            extract(epoch FROM r.next_attempt_at - start)::int))
            FROM tenure.runs r CROSS JOIN LATERAL (
                SELECT count(*) AS events, max(x.sequence) AS last
                FROM tenure.run_events x WHERE x.run = r.run) e),
        'attempts', (SELECT json_object_agg(a.attempt, json_build_array(
            a.run, a.number, a.status, a.dispatchable, extract(epoch FROM a.deadline_at - start)::int,
            a.late_callbacks))
            FROM tenure.run_attempts a),
        'leases', (SELECT json_object_agg(l.attempt, json_build_array(
            l.state, l.generation, l.version, l.worker, l.session, l.offer,
            extract(epoch FROM l.expires_at - start)::int, l.stop_reason,
            extract(epoch FROM l.stop_requested_at - start)::int,
            extract(epoch FROM l.deadline_at - start)::int,
            l.attested_state, l.attested_sequence, l.release_reason))
            FROM tenure.run_leases l));
END
$$;
REVOKE ALL ON FUNCTION tenure.look() FROM PUBLIC
"""
"""A function, because its statement is planned once and not at each look."""

CANCEL: Final = """
WITH asked AS (
    UPDATE tenure.runs r SET cancel_requested_at = tenure.clock(), cancel_reason = 'user'
    WHERE r.run = $1::uuid AND r.finished_at IS NULL
    RETURNING r.run
)
UPDATE tenure.run_leases l SET stop_reason = 'user', stop_requested_at = tenure.clock()
FROM asked JOIN tenure.run_attempts a ON a.run = asked.run
WHERE l.attempt = a.attempt AND l.state = 'leased' AND l.stop_reason IS NULL
"""

LOSE: Final = """
WITH lost AS (
    UPDATE tenure.run_attempts SET status = 'lost', ended_at = tenure.clock()
    WHERE attempt = $1::uuid AND status IN ('starting', 'running') RETURNING run
), released AS (
    UPDATE tenure.run_leases SET state = 'released', release_reason = 'lease_expired', version = version + 1
    WHERE attempt = $1 AND state = 'leased' AND expires_at <= tenure.clock()
), moved AS (
    UPDATE tenure.runs r SET status = 'lost', version = r.version + 2, event_sequence = r.event_sequence + 2
    FROM lost WHERE r.run = lost.run RETURNING r.run, r.event_sequence
)
INSERT INTO tenure.run_events
SELECT m.run, m.event_sequence - 2 + i.number, i.machine || '.lost', NULL, 'lost', 'recovery:one',
       tenure.clock(), i.machine || '-lost:' || $1, '{}'
FROM moved m, (VALUES (1, 'attempt'), (2, 'run')) AS i (number, machine)
"""

STATE: Final = """
WITH stated AS (
    INSERT INTO tenure.attestations
        (attestation, attempt, lease_generation, sequence, state, actor, observed_at, recorded_at, content)
    SELECT gen_random_uuid(), l.attempt, l.generation, coalesce(l.attested_sequence, 0) + 1, $2::text,
           'operator:ann', tenure.clock(), tenure.clock(), sha256('')
    FROM tenure.run_leases l WHERE l.attempt = $1::uuid
    RETURNING attempt, state, sequence, actor
)
SELECT tenure.note_attestation(s.attempt, s.state, s.sequence, s.actor, tenure.clock()) FROM stated s
"""

OPERATOR: Final = "operator:ann"


@dataclass
class World:
    """What a machine acts on. `tokens` are bearer tokens by worker; `seen` counts calls by answer."""

    database: ScratchDatabase
    parts: StageParts
    url: str
    tokens: dict[str, str]
    tasks: dict[str, Task]
    seed: Seed
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    steps: int = 0

    def __post_init__(self) -> None:
        self._http = HTTPConnection(urlsplit(self.url).netloc, timeout=20)
        self.database.execute(LOOK)

    def begin(self) -> None:
        """An empty database at the beginning of time; definitions and credentials stay."""
        self.database.execute(FORGET)
        self.set_clock(0)

    def call(self, worker: str, session: str, name: str, body: Json) -> tuple[int, Json]:
        """One request over HTTP: status and JSON of the answer."""
        headers = {"Authorization": f"Bearer {self.tokens[worker]}", "Content-Type": "application/json"}
        self._http.request("POST", f"/v1/sessions/{session}/{name}", json.dumps(body).encode(), headers)
        response = self._http.getresponse()
        return response.status, json.loads(response.read())

    def look(self) -> Any:
        """The rows that the model predicts."""
        return json.loads(self.database.value("SELECT tenure.look()"))

    def admit(self, run: str, attempt: str, task: str, claims: int) -> None:
        """A run that was claimed so often without a start."""
        self.seed.run(task, ids=SeededRun(UUID(run), UUID(attempt)))
        if claims:
            self.database.execute("UPDATE tenure.runs SET unstarted_claims = $2 WHERE run = $1", run, claims)

    def set_clock(self, seconds: int) -> None:
        """What time it is for the database."""
        self.database.execute(CLOCK.format(seconds=seconds))

    def cancel(self, run: str) -> None:
        """What the operator surface does."""
        self.database.execute(CANCEL, run)

    def lose(self, attempt: str) -> None:
        """What recovery does on proof."""
        self.database.rows(LOSE, attempt)

    def state(self, attempt: str, state: str) -> None:
        """An operator's statement."""
        self.database.rows(STATE, attempt, state)

    def stage(self, name: str) -> None:
        """One pass of a stage of control."""
        trio.from_thread.run(self._stages[name])

    @property
    def _stages(self) -> dict[str, Callable[[], Awaitable[object]]]:
        parts = self.parts
        return {
            "recovery": lambda: recovery.run(parts.recovery),
            "retry": lambda: retry.run(parts.database, lambda: None),
            "cancellation": lambda: cancellation.run(parts.database),
        }

    def note(self, call: str, names: Iterable[str]) -> None:
        """Count what was answered."""
        self.seen.update((call, name) for name in names)

    def attempt_of(self, run: str, number: int) -> str:
        """The id of an attempt that control made."""
        return str(
            self.database.value(
                "SELECT attempt::text FROM tenure.run_attempts WHERE run = $1::uuid AND number = $2",
                run,
                number,
            )
        )
