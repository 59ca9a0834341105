"""How many connections there may be, and how many from one peer."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from tenure_http import Limits
from tenure_http.place import Places, origin_of
from tests.http.stage import Client, RecordingObserver, post
from tests.http.test_socket import on_sockets


@pytest.mark.parametrize(
    ("peer", "origin"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:0:7::1", "2001:db8:0:7::/64"),
        ("2001:db8:0:7:ffff::9", "2001:db8:0:7::/64"),
        ("2001:db8:0:8::1", "2001:db8:0:8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_whom_a_connection_counts_for(peer: str, origin: str) -> None:
    assert origin_of(peer) == origin


def test_the_bound_of_all_comes_first_and_what_is_given_back_is_free() -> None:
    places = Places(Limits(connections=3, connections_per_peer=2))
    for origin in ("a", "a", "b"):
        assert places.bound_met(origin) is None
        places.take(origin)
    assert places.bound_met("a") == places.bound_met("c") == "connections"
    places.give_back("b")
    assert (places.bound_met("a"), places.bound_met("b")) == ("peer", None)
    places.give_back("a")
    assert places.bound_met("a") is None


def test_peers_without_an_address_are_bounded_together_only() -> None:
    places = Places(Limits(connections=3, connections_per_peer=1))
    for _ in range(3):
        assert places.bound_met("") is None
        places.take("")
    assert places.bound_met("") == "connections"


def test_peers_that_left_cost_nothing() -> None:
    places = Places(Limits())
    for number in range(1000):
        places.take(f"198.51.100.{number}")
        places.give_back(f"198.51.100.{number}")
    assert not places._by_origin


async def test_a_peer_over_its_bound_is_told_and_others_are_served() -> None:
    observer = RecordingObserver()
    async with on_sockets(limits=Limits(connections_per_peer=2), observer=observer) as (service, port):

        async def connect(host: str) -> Client:
            return Client(await trio.open_tcp_stream("127.0.0.1", port, local_address=host))

        held = [await connect("127.0.0.2") for _ in range(2)]
        for client in held:
            assert (await client.ask(post())).status == 200
        refused = await connect("127.0.0.2")
        answer = await refused.hear()
        assert (answer.status, answer.code, answer.closes) == (503, "overloaded", True)
        assert "this address" in answer.json["detail"]
        other = await connect("127.0.0.3")
        assert (await other.ask(post())).status == 200
        await held.pop().stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        again = await connect("127.0.0.2")
        assert (await again.ask(post())).status == 200
        assert (observer.turned_away, service.connections) == (["peer"], 3)
        for client in (*held, refused, other, again):
            await client.stream.aclose()
