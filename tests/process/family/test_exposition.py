"""Metrics of several processes on one page, as Prometheus reads it."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tenure_process.family.exposition import together


def page(count: int) -> bytes:
    registry = CollectorRegistry()
    requests = Counter("requests", "Requests, of\na kind.", ("code",), registry=registry)
    requests.labels('a"b').inc(count)
    Histogram("seconds", "Times.", buckets=(1.0,), registry=registry).observe(0.5)
    return generate_latest(registry)


def test_each_series_has_its_process_and_each_family_stands_once() -> None:
    text = together(b"# TYPE own gauge\nown 1\n", {0: page(2), 1: page(3)}).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert text.count("# TYPE requests_total counter") == 1
    counted = {
        sample.labels["process"]: (sample.labels["code"], sample.value)
        for sample in families["requests"].samples
    }
    assert counted == {"0": ('a"b', 2.0), "1": ('a"b', 3.0)}
    assert families["seconds"].type == "histogram"
    assert {sample.labels["process"] for sample in families["seconds"].samples} == {"0", "1"}
    assert families["own"].samples[0].labels == {}


def test_a_process_that_says_nothing_is_not_there() -> None:
    assert together(b"own 1\n", {}) == b"own 1\n"
