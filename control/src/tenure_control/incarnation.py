"""Who we are in the database: one incarnation of one replica.

Every claim names the incarnation that made it. A process that lost its database and starts anew is another
incarnation: nothing of the old one survives, exactly as if the process had been restarted.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Incarnation:
    """`replica` is the name of the process, which its incarnations share; `id` is used once."""

    replica: str
    id: str

    @classmethod
    def begin(cls, replica: str) -> Self:
        """A new incarnation of this replica."""
        return cls(replica, secrets.token_hex(6))

    @property
    def owner(self) -> str:
        """What stands in the claims of this incarnation."""
        return f"{self.replica}/{self.id}"
