"""The field types that the messages share, each carrying its bounds so that decoding enforces them.

Patterns end in `$(?!\\n)`: a plain `$` also matches before a trailing newline, and `\\Z` is not known
to the readers of the OpenAPI documents. `TEXT` patterns exclude NUL, which PostgreSQL cannot store.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Self

import msgspec
from msgspec import Meta

from tenure_contracts import bounds

_END: Final = r"$(?!\n)"
NO_NUL: Final = "^[^\\u0000]*$"

_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)


class Instant(datetime):
    """A moment in UTC, written as RFC 3339 with microseconds.

    A type of its own because msgspec drops the fraction of whole seconds, and because a naive or
    foreign-zone `datetime` must not slip into an answer: `Instant.of` is the way in.
    """

    @classmethod
    def of(cls, moment: datetime) -> Self:
        """The same moment as an Instant. Raises ValueError for a naive one."""
        if moment.tzinfo is None:
            raise ValueError("a moment needs an offset from UTC")
        utc = moment.astimezone(UTC)
        return cls(
            utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, tzinfo=UTC
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read RFC 3339 with an offset, cutting the fraction at microseconds. Raises ValueError otherwise.

        A leap second is the first moment of the next minute, as it is for PostgreSQL.
        """
        match = _TIME.fullmatch(text)
        if match is None:
            raise ValueError(f"{text[:40]!r} is not a time such as 2026-12-01T00:00:00.000000Z")
        date, minute, second, fraction, offset = match.groups()
        leap = second == "60"
        micro = "000000" if leap else (fraction or "").ljust(6, "0")[:6]
        try:
            moment = datetime.fromisoformat(
                f"{date}T{minute}:{'59' if leap else second}.{micro}{offset.upper()}"
            )
            return cls.of(moment + timedelta(seconds=leap))
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{text[:40]!r} is not a time that exists") from error

    def text(self) -> str:
        """`2026-12-01T00:00:00.000000Z`."""
        return _text(self)


@functools.lru_cache(maxsize=256)
def _text(moment: Instant) -> str:
    # Kept for a while: all leases that one call renewed end at one moment, which each of them then says.
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def instant(moment: datetime | None) -> Instant | None:
    """`Instant.of`, passing None through: rows are full of times that have not come yet."""
    return None if moment is None else Instant.of(moment)


def instants(moments: Iterable[datetime | None]) -> Iterator[Instant | None]:
    """`instant` of each; equal neighbours, as in the rows of one call, are one object."""
    last, made = None, None
    for moment in moments:
        if moment != last:
            last, made = moment, instant(moment)
        yield made


Generation = Annotated[
    int, Meta(ge=1, le=bounds.GENERATION_MAX, description="Rises by one with each new holder.")
]
Version = Annotated[
    int,
    Meta(
        ge=1,
        le=bounds.GENERATION_MAX,
        description="Rises with each renewal. A holder may send any version up to the stored one.",
    ),
]
Sequence = Annotated[
    int,
    Meta(ge=1, le=bounds.SEQUENCE_MAX, description="1, 2, 3, … for each attempt and lease generation."),
]

Secret43 = Annotated[
    str,
    Meta(
        min_length=43,
        max_length=43,
        pattern="^[A-Za-z0-9_-]{43}" + _END,
        description="32 bytes in base64url without padding.",
    ),
]
"""32 bytes in base64url: a lease token or a SHA-256. Any 43 such characters decode to exactly 32 bytes."""

Name = Annotated[str, Meta(max_length=63, pattern="^[a-z0-9][a-z0-9._-]{0,62}" + _END)]
HandlerName = Annotated[
    str,
    Meta(max_length=bounds.HANDLER_CHARACTERS, pattern="^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}" + _END),
]
SecretName = Annotated[str, Meta(max_length=63, pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,62}" + _END)]
LabelKey = Annotated[
    str, Meta(max_length=bounds.LABEL_KEY_CHARACTERS, pattern="^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}" + _END)
]
LabelValue = Annotated[
    str, Meta(max_length=bounds.LABEL_VALUE_CHARACTERS, pattern="^[^\\u0000-\\u001f\\u007f]*" + _END)
]
Labels = Annotated[dict[LabelKey, LabelValue], Meta(max_length=bounds.LABELS)]

Agent = Annotated[str, Meta(max_length=bounds.AGENT_CHARACTERS, pattern=NO_NUL)]
Handle = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=bounds.HANDLE_CHARACTERS,
        pattern=NO_NUL,
        description="What the process is known by on its machine.",
    ),
]
ExitCode = Annotated[int, Meta(ge=bounds.EXIT_CODE_MIN, le=bounds.EXIT_CODE_MAX)]

NULL: Final = msgspec.Raw(b"null")
"""Absent user JSON. User JSON stays `Raw` in messages, so that nothing on the way re-encodes it."""


def null_json() -> msgspec.Raw:
    """`NULL` as a default: a factory, because the schema of a message cannot show a raw default."""
    return NULL
