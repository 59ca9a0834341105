"""What one server process grants to its peers.

Every bound is refused with a clear status or a close; none is a promise to a single peer. Times are
enforced by one sweeper task, so they are exact to `sweep_s`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one server. All are positive; sizes are bytes, times are seconds."""

    header_bytes: int = 16 * 1024
    """Request line and header together: a token, a trace context and a proxy's additions take about 1 KiB."""

    headers: int = 64
    """Header lines: proxies add a dozen; each line costs parsing time whatever its length."""

    target_bytes: int = 2 * 1024
    """Path and query: the longest route with five names, plus a cursor."""

    chunks: int = 1024
    """Chunks of one chunked body: a client that streams sends kilobytes at once."""

    header_time_s: float = 10.0
    """From the first byte of a request to the end of its header, and from accept to the first byte."""

    body_time_s: float = 15.0
    """From the end of the header to the end of the body."""

    answer_time_s: float = 30.0
    """For the peer to take the answer: the largest pull over a slow link, not a peer that stopped reading."""

    idle_time_s: float = 75.0
    """Between requests: longer than a worker's heartbeat and the usual 60 s of load balancers."""

    linger_time_s: float = 2.0
    """After a refusal that leaves unread bytes: closing at once would reset the connection."""

    age_s: float = 600.0
    """Life of a connection, so that a fleet spreads over replicas that come later."""

    age_jitter: float = 0.1
    """Share by which each connection's age varies: workers that came together shall not leave together."""

    connections: int = 10_000
    """Open connections: 8 kB each in plain, 28 kB with TLS, and 7 kB more while a request waits."""

    connections_per_peer: int = 1024
    """Open connections from one IPv4 address or IPv6 /64: a tenth of all, so that no single host has them.

    A worker holds one to three. A fleet of many hundreds behind one NAT, or behind a proxy that connects in
    its own name, is one peer here: raise it to `connections` then.
    """

    handshakes: int = 8
    """TLS handshakes that compute in one turn of the scheduler: others wait at most 8 times 3 ms for them."""

    in_flight: int = 1024
    """Requests past their header at one time: beyond it more concurrency is only more queue."""

    in_flight_body_bytes: int = 128 * 1024 * 1024
    """Body bytes of all requests in flight together, but for the first 64 KiB of each. Nobody has shown who
    he is before his body is here, and the bounds of single bodies alone would add up to a gigabyte."""

    sweep_s: float = 0.5
    """Interval of the sweeper: what a deadline may be late, against the cost of a look at all."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) <= 0:
                raise ValueError(f"{field.name} must be positive")
