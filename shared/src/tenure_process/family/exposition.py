"""The metrics of several processes as one page, each series with the number of its process.

A label, not a sum: when one of them starts again its counters begin at zero, and of a sum that falls by a
part Prometheus would believe that all of it was counted anew. `sum without (process)` is the sum, and right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

LABEL = "process"


class _Page(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def together(own: bytes, pages: Mapping[int, bytes]) -> bytes:
    """One page of the text format: `own` as it is, and of each process what it shows, labelled."""
    families: dict[str, Metric] = {}
    for index, page in pages.items():
        for family in text_string_to_metric_families(page.decode()):
            known = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            for name, labels, value, *_ in family.samples:
                known.add_sample(name, {**labels, LABEL: str(index)}, value)
    return own + generate_latest(_Page(families.values()))
