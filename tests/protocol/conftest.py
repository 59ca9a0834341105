"""An ingress over a seeded database, and workers to script."""

from __future__ import annotations

from tests.harness.protocol import ingress, other, unregistered, worker

__all__ = ["ingress", "other", "unregistered", "worker"]
