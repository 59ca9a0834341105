"""Rounds and bars, without anything that is really measured."""

from __future__ import annotations

import socket

import pytest

from bench.bar import Bar, judge
from bench.load import Conversation, WrongAnswerError
from bench.measurement import Measure, MissingError, Reading, Series, measure_rounds

BAR = Bar("B1", "ours ÷ theirs", "ours", "theirs", must=1.2, aim=1.8)
REQUEST = b'POST / HTTP/1.1\r\n\r\n{"leases":[{"attempt":"a"},{"attempt":"b"}]}'


def _always(name: str, rate: float, order: list[str]) -> Measure:
    def measure(seconds: float) -> Reading:
        order.append(f"{name} {seconds:g}")
        return Reading(rate)

    return measure


def _missing(_: float) -> Reading:
    raise MissingError("nobody is here")


def _series(*rates: float) -> Series:
    return Series([Reading(rate) for rate in rates])


def test_every_round_takes_everything_and_every_other_one_goes_backwards() -> None:
    order: list[str] = []

    found = measure_rounds({name: _always(name, 1.0, order) for name in "abc"}, rounds=3, seconds=2)

    assert order == ["a 2", "b 2", "c 2", "c 2", "b 2", "a 2", "a 2", "b 2", "c 2"]
    assert {name: len(series.readings) for name, series in found.items()} == {"a": 3, "b": 3, "c": 3}


def test_a_bar_compares_within_rounds() -> None:
    # The machine was ten times slower in two rounds: the rates say nothing, the ratios everything.
    found = {"ours": _series(1500, 150, 160), "theirs": _series(1000, 100, 100)}

    result = judge(BAR, found)

    assert result.ratios == [1.5, 1.5, 1.6]
    assert (result.ratio, result.verdict) == (1.5, "reached")


@pytest.mark.parametrize(("ours", "verdict"), [(1.1, "below"), (1.2, "reached"), (1.8, "aim")])
def test_verdicts_begin_at_their_figure(ours: float, verdict: str) -> None:
    assert judge(BAR, {"ours": _series(ours), "theirs": _series(1.0)}).verdict == verdict


def test_what_a_machine_lacks_is_said_and_nothing_takes_its_place() -> None:
    found = measure_rounds({"ours": _always("ours", 5.0, []), "theirs": _missing}, rounds=2, seconds=1)

    result = judge(BAR, found)

    assert (result.verdict, result.reason, result.ratio) == ("not measured", "nobody is here", None)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
        b'HTTP/1.1 200 OK\r\nContent-Length: 42\r\n\r\n{"status":"renewed"},{"status":"fenced"}   ',
    ],
    ids=["status", "verdict"],
)
def test_the_load_takes_no_wrong_answer(answer: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(answer)
        with pytest.raises(WrongAnswerError):
            Conversation(ours, REQUEST, leases=2).receive()


def test_the_load_reads_an_answer_that_comes_in_pieces() -> None:
    ours, theirs = socket.socketpair()
    conversation = Conversation(ours, REQUEST, leases=1)
    with ours, theirs:
        theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n")
        assert not conversation.receive()
        theirs.sendall(b'\r\n{"status":"renewed')
        assert not conversation.receive()
        theirs.sendall(b'"}')
        assert conversation.receive()


def test_the_load_sees_an_answer_about_other_leases() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        answered = b'{"leases":[{"attempt":"a","status":"renewed"},{"attempt":"c","status":"renewed"}]}'
        theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answered) + answered)
        conversation = Conversation(ours, REQUEST, leases=2)
        assert conversation.receive()
        with pytest.raises(WrongAnswerError):
            conversation.read()
