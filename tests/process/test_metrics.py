"""The series of HTTP, under the name of whoever serves."""

from __future__ import annotations

from tenure_process.metrics import HttpMetrics


def test_what_is_observed_is_counted() -> None:
    metrics = HttpMetrics("tenure_x")
    for _ in range(2):
        metrics.connection_opened()
    metrics.connection_closed()
    metrics.connection_turned_away("peer")
    metrics.handshake_failed("PEER_DID_NOT_RETURN_A_CERTIFICATE")
    metrics.handshake_failed("HTTP_REQUEST")
    metrics.request_answered(None, "pull", 200, 0.02)
    metrics.request_refused("busy", "pull")
    lines = [line.rpartition(" ") for line in metrics.render().decode().splitlines()]
    series = {name: value for name, _, value in lines}
    assert series["tenure_x_connections"] == "1.0"
    assert series['tenure_x_connections_turned_away_total{bound="peer"}'] == "1.0"
    assert series['tenure_x_handshakes_failed_total{reason="no_certificate"}'] == "1.0"
    assert series['tenure_x_handshakes_failed_total{reason="other"}'] == "1.0"
    assert series['tenure_x_request_seconds_count{route="pull",status="200"}'] == "1.0"
    assert series['tenure_x_request_seconds_bucket{le="0.025",route="pull",status="200"}'] == "1.0"
    assert series['tenure_x_refusals_total{code="busy",route="pull"}'] == "1.0"
