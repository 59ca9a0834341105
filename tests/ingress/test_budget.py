"""How many authentications may fail, under virtual time: it stands still unless a test moves it."""

from __future__ import annotations

import secrets

import pytest
import trio
import trio.testing

from tenure_contracts.error import Refusal
from tenure_contracts.identity import Token
from tenure_ingress import budget as module
from tenure_ingress.budget import FailureBudget


@pytest.fixture
def clock() -> trio.testing.MockClock:
    """A clock that a test moves with `jump`; every test here is under it."""
    return trio.testing.MockClock()


def token() -> Token:
    """Somebody's token."""
    return Token("abcdefgh", secrets.token_bytes(32))


def refused(budget: FailureBudget, peer: str, presented: Token | None = None) -> float | None:
    """After how many seconds a peer may come back; None when it is let through."""
    try:
        budget.check(peer, presented)
    except Refusal as refusal:
        return refusal.retry_after_s
    return None


def fail(budget: FailureBudget, peer: str, times: int = 1) -> None:
    for _ in range(times):
        budget.failed(peer, None)


async def test_a_peer_may_fail_so_often_and_then_at_the_pace_of_its_budget(
    clock: trio.testing.MockClock,
) -> None:
    budget = FailureBudget(per_peer=6, in_all=1000)
    for _ in range(6):
        assert refused(budget, "10.0.0.1") is None
        fail(budget, "10.0.0.1")
    assert refused(budget, "10.0.0.1") == pytest.approx(10)
    assert refused(budget, "10.0.0.2") is None
    clock.jump(9.9)
    assert refused(budget, "10.0.0.1") == pytest.approx(0.1)
    clock.jump(0.2)
    assert refused(budget, "10.0.0.1") is None
    fail(budget, "10.0.0.1")
    assert refused(budget, "10.0.0.1") is not None


async def test_what_was_on_its_way_is_a_debt_and_no_deeper_than_the_budget(
    clock: trio.testing.MockClock,
) -> None:
    budget = FailureBudget(per_peer=6, in_all=1000)
    fail(budget, "10.0.0.1", 500)
    assert refused(budget, "10.0.0.1") == pytest.approx(70)
    clock.jump(70.1)
    assert refused(budget, "10.0.0.1") is None


async def test_a_quiet_minute_makes_the_budget_whole_and_no_more(clock: trio.testing.MockClock) -> None:
    budget = FailureBudget(per_peer=6, in_all=1000)
    fail(budget, "10.0.0.1", 6)
    clock.jump(3600)
    fail(budget, "10.0.0.1", 5)
    assert refused(budget, "10.0.0.1") is None
    fail(budget, "10.0.0.1")
    assert refused(budget, "10.0.0.1") is not None


async def test_all_peers_together_have_a_budget(clock: trio.testing.MockClock) -> None:
    budget = FailureBudget(per_peer=6, in_all=60)
    for number in range(60):
        assert refused(budget, "10.1.0.1") is None
        fail(budget, f"10.0.0.{number}")
    assert refused(budget, "10.1.0.1") == pytest.approx(1)
    clock.jump(1.1)
    assert refused(budget, "10.1.0.1") is None


async def test_an_accepted_credential_passes_while_budgets_are_empty(clock: trio.testing.MockClock) -> None:
    budget, honest = FailureBudget(per_peer=6, in_all=60), token()
    budget.accepted("10.0.0.1", honest)
    fail(budget, "10.0.0.1", 100)
    assert refused(budget, "10.0.0.1") is not None
    assert refused(budget, "10.9.9.9") is not None
    assert refused(budget, "10.0.0.1", honest) is None
    assert refused(budget, "10.9.9.9", honest) is None
    # Its id alone, or its secret under another id, are not it.
    assert refused(budget, "10.0.0.1", Token(honest.id, bytes(32))) is not None
    assert refused(budget, "10.0.0.1", Token("hgfedcba", honest.secret_digest)) is not None


async def test_one_refusal_ends_what_acceptance_gave(clock: trio.testing.MockClock) -> None:
    budget, revoked = FailureBudget(per_peer=1, in_all=60), token()
    budget.accepted("10.0.0.1", revoked)
    budget.failed("10.0.0.1", revoked)
    assert refused(budget, "10.0.0.1", revoked) is not None


async def test_success_gives_a_peer_its_budget_back(clock: trio.testing.MockClock) -> None:
    budget = FailureBudget(per_peer=6, in_all=60)
    for _ in range(50):
        fail(budget, "10.0.0.1")
        budget.accepted("10.0.0.1", token())
    assert refused(budget, "10.0.0.1") is None
    # Never more than there is room for, and the budget of all is not paid for with it.
    fail(budget, "10.0.0.1", 6)
    assert refused(budget, "10.0.0.1") is not None
    assert refused(budget, "10.0.0.2") is None
    fail(budget, "10.0.0.2", 4)
    assert refused(budget, "10.0.0.3") is not None


async def test_a_host_with_many_addresses_has_one_budget(clock: trio.testing.MockClock) -> None:
    budget = FailureBudget(per_peer=6, in_all=1000)
    for number in range(6):
        fail(budget, f"2001:db8::{number:x}")
    assert refused(budget, "2001:db8::ffff") is not None
    assert refused(budget, "2001:db8:0:1::1") is None


async def test_peers_are_forgotten_when_they_are_whole_again(clock: trio.testing.MockClock) -> None:
    budget = FailureBudget(per_peer=6, in_all=1000)
    fail(budget, "10.0.0.0", 3)
    for number in range(100):
        clock.jump(1)
        fail(budget, f"10.0.1.{number}")
    assert budget.peers <= 12


async def test_memory_is_bounded_whoever_comes(
    clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PEERS_KEPT", 100)
    monkeypatch.setattr(module, "CREDENTIALS_KEPT", 10)
    budget = FailureBudget(per_peer=1, in_all=10_000)
    for number in range(1000):
        fail(budget, f"10.0.{number // 256}.{number % 256}")
    assert budget.peers == 100
    accepted = [token() for _ in range(11)]
    for each in accepted:
        budget.accepted("10.1.0.1", each)
    fail(budget, "10.1.0.1")
    assert refused(budget, "10.1.0.1", accepted[0]) is not None
    assert all(refused(budget, "10.1.0.1", each) is None for each in accepted[1:])
