"""Providers by executor kind: bounded in time, and never believed further than they can say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol
from uuid import UUID

import structlog
import trio

from tenure_contracts.plan import Executor

TIMEOUT_S: Final = 5.0

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Subject:
    """The started attempt that is asked about, under exactly this lease."""

    attempt: UUID
    lease_generation: int


@dataclass(frozen=True, slots=True)
class Running:
    """It runs: wait for its holder."""

    subject: Subject


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can say. `contradictory` and `unverifiable` need a person, `unavailable` needs time."""

    subject: Subject
    reason: Literal["unavailable", "contradictory", "unverifiable"]


Evidence = Running | Unknown
"""There is no answer "not running" before a provider can prove it."""


class Provider(Protocol):
    """Answers for one kind of executor."""

    async def ask(self, subject: Subject) -> Evidence:
        """What is known about this attempt under this lease. May raise, hang or be wrong."""
        ...


@dataclass(frozen=True, slots=True)
class Registry:
    """The providers of this process."""

    providers: Mapping[Executor, Provider] = field(default_factory=dict)
    timeout_s: float = TIMEOUT_S

    async def ask(self, executor: Executor | None, subject: Subject) -> Evidence:
        """Ask the provider of this kind. Its absence, its time-out and its exception are `unavailable`; an
        answer about something else is `contradictory`.
        """
        provider = self.providers.get(executor) if executor is not None else None
        if provider is None:
            return Unknown(subject, "unavailable")
        answer: object = Unknown(subject, "unavailable")
        try:
            with trio.move_on_after(self.timeout_s):
                answer = await provider.ask(subject)
        except Exception:  # noqa: BLE001 - whatever a provider does wrong proves nothing
            _log.exception("evidence_provider_failed", executor=executor, attempt=str(subject.attempt))
        if isinstance(answer, Running | Unknown) and answer.subject == subject:
            return answer
        return Unknown(subject, "contradictory")
