"""What the protocol can do, one function per call: a message in, a message out, or a Refusal."""

from __future__ import annotations
