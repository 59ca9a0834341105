"""Retry: the policy as it is declared, as it is compiled, and the one decision that reads it.

The policy is compiled at publication into a table of delays and copied to each run at admission. Nothing
computes back-off twice, the database applies the same table, and a later revision changes no run.

**Safety** is the answer to "may this be done twice?". It is asked whenever an attempt ended without a
report: it may have done its work and only failed to say so. Undeclared work is then not repeated.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final, Literal

import msgspec

from tenure_contracts import bounds
from tenure_contracts.duration import DurationError, format_duration, parse_duration
from tenure_contracts.fault import Faults

Cause = Literal["failed", "timed_out", "lost"]
Safety = Literal["unknown", "idempotent", "deduplicated"]
ExitRule = Literal["retry", "fail"]
Refused = Literal["retry_disabled", "retry_unsafe", "retry_exhausted"]


class BackoffDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The wait before try n + 1 is `base * factor^(n-1)`, at most `cap`, less up to the share `jitter`."""

    base: str = "1s"
    factor: int | float | str = 2
    cap: str = "5m"
    jitter: int | float | str = 0


class RetryDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`max_attempts` counts tries that crossed the start barrier, the first one included."""

    max_attempts: int = 1
    on: tuple[Cause, ...] = ("failed",)
    safety: Safety = "unknown"
    backoff: BackoffDefinition = BackoffDefinition()


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The compiled policy of a revision: the columns of a run's policy row, durations in microseconds."""

    max_attempts: int = 1
    on_failed: bool = False
    on_timed_out: bool = False
    on_lost: bool = False
    safety: Safety = "unknown"
    delays_us: tuple[int, ...] = ()
    exit_codes: dict[str, ExitRule] = msgspec.field(default_factory=dict)
    outcome_unknown_after_us: int | None = None
    presume_lost_after_us: int | None = None
    stop_on_lost_contact_us: int | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after `delay_us`; zero means in the same transaction."""

    delay_us: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The run or step fails with this error code."""

    reason: Refused


RetryDecision = Retry | GiveUp

NO_BACKOFF_FACTOR: Final = Decimal(1)
FACTOR_MAX: Final = Decimal(100)


def compile_retry(definition: RetryDefinition | None, faults: Faults, *, seed: str = "") -> RetryPolicy:
    """The compiled policy; faults are noted and stand-ins used. `seed` names the task, for its jitter.

    No definition is one try. `lost` needs declared safety: a lost attempt may have done its work.
    """
    if definition is None:
        return RetryPolicy()
    attempts = definition.max_attempts
    if not 1 <= attempts <= bounds.ATTEMPTS_MAX:
        faults.at("max_attempts").add(f"must be 1 to {bounds.ATTEMPTS_MAX}", attempts)
        attempts = 1
    _check_causes(definition, faults)
    return RetryPolicy(
        max_attempts=attempts,
        on_failed="failed" in definition.on,
        on_timed_out="timed_out" in definition.on,
        on_lost="lost" in definition.on,
        safety=definition.safety,
        delays_us=_delays(definition.backoff, attempts, faults.at("backoff"), seed),
    )


def decide_retry(
    policy: RetryPolicy | None,
    cause: Cause,
    tries: int,
    exit_code: int | None = None,
    *,
    reported: bool = True,
) -> RetryDecision:
    """Decide after an attempt ended without success.

    `tries` counts attempts past the start barrier, this one included. `reported` is false when the end
    rests on evidence alone; `lost` always does. An `exit_codes` rule overrides `on` for a reported
    failure, in either direction, but never the number of tries.
    """
    reported = reported and cause != "lost"
    rule = policy.exit_codes.get(str(exit_code)) if policy and reported and cause == "failed" else None
    if policy is None or rule == "fail" or not (rule == "retry" or _listed(policy, cause)):
        return GiveUp("retry_disabled")
    if not reported and policy.safety == "unknown":
        return GiveUp("retry_unsafe")
    if tries >= policy.max_attempts:
        return GiveUp("retry_exhausted")
    return Retry(policy.delays_us[max(tries, 1) - 1])


def _listed(policy: RetryPolicy, cause: Cause) -> bool:
    return {"failed": policy.on_failed, "timed_out": policy.on_timed_out, "lost": policy.on_lost}[cause]


def _check_causes(definition: RetryDefinition, faults: Faults) -> None:
    if len(set(definition.on)) != len(definition.on):
        faults.at("on").add("names a cause twice", list(definition.on))
    if "lost" in definition.on and definition.safety == "unknown":
        faults.at("on").add(
            "`lost` needs a declared safety: a lost attempt may have done its work without saying so, "
            "so write `safety: idempotent` or `safety: deduplicated`, or leave `lost` out",
            list(definition.on),
        )


def _delays(backoff: BackoffDefinition, attempts: int, faults: Faults, seed: str) -> tuple[int, ...]:
    base = read_duration(backoff.base, faults.at("base"), 0, bounds.BACKOFF_US_MAX)
    cap = read_duration(backoff.cap, faults.at("cap"), 0, bounds.BACKOFF_US_MAX)
    factor = _decimal(backoff.factor, faults.at("factor"), NO_BACKOFF_FACTOR, FACTOR_MAX)
    jitter = _decimal(backoff.jitter, faults.at("jitter"), Decimal(0), Decimal(1))
    if base > cap:
        faults.at("base").add(f"is longer than the cap {backoff.cap}", backoff.base)
    return tuple(_delay(base, factor, cap, jitter, number, seed) for number in range(1, attempts))


def _delay(base: int, factor: Decimal, cap: int, jitter: Decimal, number: int, seed: str) -> int:
    delay = min(Decimal(base) * factor ** (number - 1), Decimal(cap))
    share = int.from_bytes(hashlib.sha256(f"tenure/backoff\0{seed}\0{number}".encode()).digest()[:4], "big")
    return int(delay - delay * jitter * share / 2**32)


def _decimal(value: float | str, faults: Faults, low: Decimal, high: Decimal) -> Decimal:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not low <= number <= high:
        faults.add(f"must be a number from {low} to {high}", value)
        return low
    return number


def read_duration(text: str, faults: Faults, low_us: int, high_us: int) -> int:
    """A bounded duration in microseconds; a fault is noted and `low_us` returned instead."""
    try:
        duration = parse_duration(text)
    except DurationError as error:
        faults.add(str(error))
        return low_us
    if not low_us <= duration <= high_us:
        faults.add(f"must be from {format_duration(low_us)} to {format_duration(high_us)}", text)
        return low_us
    return duration
