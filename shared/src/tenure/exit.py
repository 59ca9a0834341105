"""How a command ends: the exit codes of every `tenure` command, and the error that carries one."""

from __future__ import annotations

import sys
from typing import Final

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 64
TEMPORARY: Final = 75
CONFIGURATION: Final = 78


class Stop(Exception):  # noqa: N818 - an ending, not always an error
    """Ends the command with one sentence on standard error and an exit code."""

    def __init__(self, sentence: str, code: int = FAILED) -> None:
        super().__init__(sentence)
        self.code = code

    def say(self) -> None:
        """Print the sentence where a person reads errors."""
        print(f"tenure: {self}", file=sys.stderr)  # noqa: T201 - the command line speaks
