"""Channels of PostgreSQL on which processes wake each other. Nobody depends on them: a lost word makes a look
later, never wrong.
"""

from __future__ import annotations

from typing import Final

DISPATCH: Final = "tenure_dispatch"
"""Work became dispatchable: for the pulls that wait. With a session's id as payload: there is something that
the pulls of this session should hear now, and nothing for others."""

CONTROL: Final = "tenure_control"
"""Work ended, or an operator asked for something: for the cadences."""
