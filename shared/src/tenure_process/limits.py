"""The limits of the HTTP server as settings, each within a range that can be meant."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tenure_http import Limits
from tenure_process.settings import Reader

RANGES: Final[Mapping[str, tuple[float, float]]] = MappingProxyType(
    {
        "header_bytes": (1024, 1024 * 1024),
        "headers": (8, 1000),
        "target_bytes": (256, 64 * 1024),
        "chunks": (1, 1_000_000),
        "header_time_s": (0.1, 300),
        "body_time_s": (0.1, 600),
        "answer_time_s": (0.1, 600),
        "idle_time_s": (1, 3600),
        "linger_time_s": (0.1, 60),
        "age_s": (1, 86_400),
        "age_jitter": (0.01, 0.9),
        "connections": (1, 1_000_000),
        "connections_per_peer": (1, 1_000_000),
        "handshakes": (1, 1000),
        "in_flight": (1, 1_000_000),
        "in_flight_body_bytes": (1024 * 1024, 900 * 1024 * 1024),
        "sweep_s": (0.05, 5),
    }
)
"""The lowest and the highest value of each, both included, in the unit that its name says."""


def limit_name(field: str) -> str:
    """The name of a limit behind the prefix of its process: `header_time_s` is `LIMIT_HEADER_TIME`."""
    return f"LIMIT_{field.removesuffix('_s').upper()}"


def read_limits(reader: Reader, prefix: str) -> Limits:
    """The limits that are given, and the others as they are by default."""
    values: dict[str, Any] = {
        field.name: _read(reader, prefix, field.name) for field in dataclasses.fields(Limits)
    }
    return Limits(**values)


def _read(reader: Reader, prefix: str, field: str) -> float:
    name, (low, high) = prefix + limit_name(field), RANGES[field]
    default = getattr(Limits(), field)
    if field.endswith("_s"):
        return reader.seconds(name, default, low, high)
    if isinstance(default, float):
        return reader.share(name, default, low, high)
    return reader.count(name, default, int(low), int(high))
