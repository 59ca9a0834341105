"""How a command ends early: the error that carries a sentence and an exit code."""

from __future__ import annotations

import sys

from tenure_process.exit import ExitCode


class Stop(Exception):  # noqa: N818 - an ending, not always an error
    """Ends the command with one sentence on standard error and an exit code."""

    def __init__(self, sentence: str, code: int = ExitCode.FAILED) -> None:
        super().__init__(sentence)
        self.code = code

    def say(self) -> None:
        """Print the sentence where a person reads errors."""
        print(f"tenure: {self}", file=sys.stderr)  # noqa: T201 - the command line speaks
