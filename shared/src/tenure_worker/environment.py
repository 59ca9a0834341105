"""The environment of a command: a few of the agent's names, facts of the attempt, and what its task says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tenure_contracts.wire.offer import Offered


def command_environment(inherited: Mapping[str, str], offered: Offered, output: Path) -> dict[str, str]:
    """The whole environment of a command; a name that the task sets wins. Never contains the agent's token.

    A command that has a result writes it as JSON to the file named by `TENURE_OUTPUT`.
    """
    attempt = offered.attempt
    facts = {
        "TENURE_PROJECT": attempt.project,
        "TENURE_TASK": attempt.task,
        "TENURE_RUN": str(attempt.run),
        "TENURE_STEP": attempt.step or "",
        "TENURE_ATTEMPT": str(attempt.attempt),
        "TENURE_ATTEMPT_NUMBER": str(attempt.number),
        "TENURE_TRY": str(attempt.try_),
        "TENURE_INPUT": bytes(offered.input).decode(),
        "TENURE_OUTPUT": str(output),
    }
    return {**inherited, **facts, **offered.plan.env}
