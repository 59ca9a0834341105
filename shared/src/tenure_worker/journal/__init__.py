"""The journal: what this worker is about to do, on disk before it does it."""

from tenure_worker.journal.record import Lease, Record, Result, State
from tenure_worker.journal.store import Journal, open_journal

__all__ = ["Journal", "Lease", "Record", "Result", "State", "open_journal"]
