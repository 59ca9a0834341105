"""B1 and B2: renewals over HTTP, against the same function called by PostgreSQL's own benchmark.

Each worker of the stack has one connection, and renews its first lease or all that it has.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from functools import partial

import msgspec

from bench import machine
from bench.bar import Bar
from bench.load import Plan, Tally
from bench.measurement import Measure, Reading
from bench.pgbench import Script, run_pgbench
from bench.stack import Holder, Stack
from tenure_contracts.identity import lease_token_digest, parse_worker_token

CLIENTS = 8
WARM_UP_S = 0.3

FUNCTION = "renew_v1, 1 lease a call: pgbench, 8 clients"
UPDATE = "bare one-row UPDATE: pgbench, 8 clients"
SINGLE = "renewals over HTTP, 1 lease a request"
MANY = "renewals over HTTP, many leases a request"

BARS = (
    Bar("B1", "renewals over HTTP, one lease a request ÷ renew_v1 by pgbench", SINGLE, FUNCTION, 1.2, 1.8),
    Bar("B2", "renewals over HTTP, many leases a request ÷ the same", MANY, FUNCTION, 4.0, 6.0),
)

CALL = """SELECT * FROM ingress_api.renew_v1(ARRAY[:credential{n}]::text[], ARRAY[:secret{n}]::bytea[],
    ARRAY[:session{n}]::uuid[], ARRAY[:generation{n}]::integer[], ARRAY[1], ARRAY[:attempt{n}]::uuid[],
    ARRAY[:offer{n}]::uuid[], ARRAY[:token{n}]::bytea[], ARRAY[:lease_generation{n}]::integer[],
    ARRAY[:lease_version{n}]::integer[], 30.0);"""

BARE = """UPDATE tenure.run_leases SET version = version + 1, renewed_at = clock_timestamp(),
    expires_at = clock_timestamp() + interval '30 s' WHERE attempt = :attempt{n}::uuid;"""


def measures(stack: Stack) -> Mapping[str, Measure]:
    """The measurements, by name."""
    variables = {name: value for n in range(CLIENTS) for name, value in _variables(n, stack.holders[n])}
    function, bare = (Script(_each_its_own(text), CLIENTS, variables) for text in (CALL, BARE))
    return {
        FUNCTION: partial(_pgbench, stack.database.dsn("tenure_ingress"), function),
        SINGLE: partial(_http, stack, 1),
        MANY: partial(_http, stack, len(stack.holders[0].work)),
        UPDATE: partial(_pgbench, stack.database.dsn(), bare),
    }


def _variables(n: int, holder: Holder) -> list[tuple[str, str]]:
    """A lease of its own for each client of pgbench: they shall not wait for each other's row."""
    token, work = parse_worker_token(holder.token), holder.work[0]
    values = {
        "credential": token.id,
        "secret": "\\x" + token.secret_digest.hex(),
        "session": holder.session,
        "generation": holder.generation,
        "attempt": work.attempt,
        "offer": work.offer,
        "token": "\\x" + lease_token_digest(work.token).hex(),
        "lease_generation": work.lease_generation,
        "lease_version": work.lease_version,
    }
    return [(f"{name}{n}", str(value)) for name, value in values.items()]


def _each_its_own(statement: str) -> str:
    """A script in which client n sends the statement with the variables of number n."""
    branches = [f"\\elif :client_id = {n}\n{statement.format(n=n)}\n" for n in range(CLIENTS)]
    return "".join(branches).replace("\\elif", "\\if", 1) + "\\endif\n"


def _pgbench(dsn: str, script: Script, seconds: float) -> Reading:
    return Reading(run_pgbench(dsn, script, seconds))


def _http(stack: Stack, leases: int, seconds: float) -> Reading:
    requests = [holder.renewal(leases) for holder in stack.holders]
    plan = Plan("127.0.0.1", stack.ingress.port, requests, leases, WARM_UP_S, seconds, stack.cores.load)
    before = _counters(stack)
    done = subprocess.run(
        [sys.executable, "-m", "bench.load"],
        input=msgspec.json.encode(plan),
        stdout=subprocess.PIPE,
        check=True,
    )
    tally = msgspec.json.decode(done.stdout, type=Tally)
    used = {name: value - before[name] for name, value in _counters(stack).items()}
    return Reading(tally.answers * leases / tally.seconds, _facts(tally, used, leases))


def _counters(stack: Stack) -> Mapping[str, float]:
    ingress = stack.ingress
    return {
        "calls": ingress.metric('tenure_ingress_lane_calls_total{lane="renew"}'),
        "items": ingress.metric('tenure_ingress_lane_items_total{lane="renew"}'),
        "server": machine.cpu_s(ingress.pid),
        "postgres": machine.family_cpu_s(stack.postmaster),
    }


def _facts(tally: Tally, used: Mapping[str, float], leases: int) -> Mapping[str, float]:
    """Processor time is a share of one core over the measurement with its warm-up."""
    whole_s = tally.seconds + WARM_UP_S
    return {
        "leases a request": leases,
        "p50 ms": tally.p50_ms,
        "p99 ms": tally.p99_ms,
        "leases per call": used["items"] / used["calls"] * leases,
        "server ms per 1000 requests": used["server"] / used["items"] * 1e6,
        "cores: server": used["server"] / whole_s,
        "PostgreSQL": used["postgres"] / whole_s,
        "load": tally.cpu_s / tally.seconds,
    }
