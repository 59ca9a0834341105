"""Answers of the protocol, real and predicted, compared and named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.model.state import Json


def difference(expected: Any, actual: Any, at: str = "$") -> Iterator[str]:
    """Where the answer is another than predicted. Members that the model does not know do not count."""
    if expected == actual:
        return
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name, value in expected.items():
            yield from difference(value, actual.get(name, "nothing"), f"{at}.{name}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from difference(one, other, f"{at}[{number}]")
    else:
        yield f"{at}: {actual!r} instead of {expected!r}"


def names_of(call: str, status: int, answer: Json) -> Iterator[str]:
    """What an answer says, in the words of the table of coverage."""
    if status != 200:
        yield answer["code"]
    elif call == "exchange":
        yield "items"
    elif call in ("renew", "decline"):
        for lease in answer["leases"]:
            yield from _lease_names(lease)
    elif call == "offers":
        yield from ("recovered" if offer["recovered"] else "offered" for offer in answer["offered"])
        yield from ("settled" for _ in answer["settled"])
        yield from filter(None, [answer["none"]])
    elif call == "leases":
        yield "some" if answer["leases"] else "none"
    elif call == "attest":
        yield from (answer["status"], answer["disposition"] or "adopted")
    else:
        yield from _report_names(call, answer)


def _lease_names(lease: Json) -> Iterator[str]:
    yield "-".join(filter(None, (lease["status"], lease.get("disposition"), lease.get("terminal"))))
    if lease.get("late"):
        yield "late"


def _report_names(call: str, answer: Json) -> Iterator[str]:
    yield answer["status"]
    if call in ("complete", "start-failure") and answer["status"] == "applied":
        yield f"{answer['attempt_status']}-{answer['run_status']}"
    if answer.get("late"):
        yield "late"
