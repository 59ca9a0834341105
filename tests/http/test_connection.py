"""Conversations on one connection: order, keeping, refusals before the body, handlers that fail."""

from __future__ import annotations

import logging

import pytest
import trio

from tenure_contracts.error import Refusal
from tenure_http import Head, Limits, LogObserver, Match, Request, Response, Route, Router
from tests.http.stage import Answer, RecordingObserver, echo, echo_route, get, on_stage, post, route

CHUNKED = ["Transfer-Encoding: chunked"]


async def test_a_connection_is_kept_for_many_requests() -> None:
    observer = RecordingObserver()
    async with on_stage(observer=observer) as stage:
        client = stage.connect()
        for number in range(5):
            answer = await client.ask(post(body=b"%d" % number))
            assert (answer.status, answer.body, answer.closes) == (200, b"%d" % number, False)
    assert observer.opened == 1
    assert observer.answered == [("echo", 200)] * 5


async def test_a_request_may_arrive_byte_by_byte() -> None:
    async with on_stage() as stage:
        client = stage.connect()
        for byte in post(body=b"[1]"):
            await client.tell(bytes([byte]))
            await trio.testing.wait_all_tasks_blocked()
        assert (await client.hear()).body == b"[1]"


async def test_a_chunked_body_is_one_body() -> None:
    async with on_stage() as stage:
        answer = await stage.connect().ask(
            post(body=b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", length="", extra=CHUNKED)
        )
    assert answer.body == b"abc"


async def test_a_handler_gets_the_whole_request() -> None:
    async def show(request: Request) -> Response:
        seen: list[object] = [request.method, request.path, request.route, dict(request.parameters)]
        seen += [request.query, request.header("x-a"), request.peer]
        return Response(201, repr(seen).encode(), "text/plain", (("X-B", "2"),))

    shown = Route("show", "POST", "/show/{name}", show, body_bytes=10)
    async with on_stage([shown]) as stage:
        answer = await stage.connect().ask(post("/show/n1?q=1", extra=["X-A: 1"]))
    assert answer.body == b"['POST', '/show/n1', 'show', {'name': 'n1'}, {'q': '1'}, '1', '']"
    assert (answer.status, answer.headers["x-b"]) == (201, "2")


async def test_head_is_get_without_the_body() -> None:
    async def show(request: Request) -> Response:
        return Response(200, b"long", "text/plain")

    async with on_stage([Route("show", "GET", "/show", show)]) as stage:
        client = stage.connect()
        answer = await client.ask(get("/show", method="HEAD"))
        assert (answer.body, answer.headers["content-length"]) == (b"", "4")
        assert (await client.ask(get("/show"))).body == b"long"


@pytest.mark.parametrize(
    "request_bytes", [post(extra=["Connection: close"]), post().replace(b"1.1", b"1.0", 1)]
)
async def test_a_peer_that_wants_no_more_is_let_go(request_bytes: bytes) -> None:
    async with on_stage() as stage:
        client = stage.connect()
        assert (await client.ask(request_bytes)).closes
        assert await client.is_closed()


@pytest.mark.parametrize("tail", [post(body=b"2"), b"\r\n", b"garbage"])
async def test_a_pipelined_request_is_never_looked_at(tail: bytes) -> None:
    observer = RecordingObserver()
    async with on_stage(observer=observer) as stage:
        client = stage.connect()
        answer = await client.ask(post(body=b"1") + tail)
        assert (answer.body, answer.closes) == (b"1", True)
        assert await client.is_closed()
    assert observer.answered == [("echo", 200)]


async def test_a_body_is_asked_for_when_the_peer_waits_for_that() -> None:
    async with on_stage() as stage:
        client = stage.connect()
        await client.tell(post(body=b"", length="3", extra=["Expect: 100-continue"]))
        assert await client.stream.receive_some(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert (await client.ask(b"[1]")).body == b"[1]"


async def test_a_body_that_is_not_wanted_is_not_asked_for() -> None:
    async with on_stage() as stage:
        client = stage.connect()
        answer = await client.ask(post(body=b"", length="5000", extra=["Expect: 100-continue"]))
        assert (answer.code, client.interim) == ("content_too_large", [])


REFUSED_BY_HEAD = {
    "malformed_request": b"NONSENSE\r\n\r\n",
    "not_available": post(extra=["Transfer-Encoding: gzip"]),
    "unknown_route": post("/nowhere", length="4"),
    "method_not_allowed": get("/echo"),
    "length_required": post(length=""),
    "content_too_large": post(length="1001"),
    "uri_too_long": post("/" + "a" * 3000, length="4"),
    "unsupported_media_type": post(length="4", extra=["Content-Encoding: br"]),
    "expectation_failed": post(length="4", extra=["Expect: more"]),
    "upgrade_required": post(extra=["Upgrade: h2c", "Connection: Upgrade"]),
    "header_too_large": post(extra=["X: " + "a" * 20_000]),
}


@pytest.mark.parametrize(("code", "data"), REFUSED_BY_HEAD.items(), ids=REFUSED_BY_HEAD.keys())
async def test_each_refusal_before_the_body(code: str, data: bytes) -> None:
    observer = RecordingObserver()
    async with on_stage(observer=observer) as stage:
        answer = await stage.connect().ask(data)
    assert answer.code == code
    assert answer.json["request_id"]
    assert observer.refused == [(code, "-")]
    assert observer.answered == [("-", answer.status)]


async def test_a_refusal_with_a_body_on_its_way_closes_after_the_answer() -> None:
    async with on_stage() as stage:
        client = stage.connect()
        assert (await client.ask(post("/nowhere", length="500"))).closes
        assert await client.is_closed()


async def test_a_refusal_whose_body_is_here_keeps_the_connection() -> None:
    async with on_stage() as stage:
        client = stage.connect()
        assert not (await client.ask(post("/nowhere", body=b"[1]"))).closes
        assert not (await client.ask(get("/nowhere"))).closes
        assert (await client.ask(post())).status == 200


async def test_a_refusal_never_waits_for_the_body() -> None:
    calls: list[str] = []

    def admit(head: Head) -> Match:
        calls.append(head.path)
        raise Refusal("starting", "Not yet.")

    async with on_stage(admit=admit) as stage:
        answer = await stage.connect().ask(post(body=b"", length="1000"))
    assert (answer.status, answer.code, answer.json["detail"]) == (503, "starting", "Not yet.")
    assert int(answer.headers["retry-after"]) >= 1
    assert calls == ["/echo"]


async def test_malformed_bytes_reach_neither_admission_nor_handler() -> None:
    def admit(head: Head) -> Match:
        raise AssertionError

    async with on_stage(admit=admit) as stage:
        answer = await stage.connect().ask(post(extra=["Content-Length: 2"]))
    assert answer.code == "malformed_request"


@pytest.mark.parametrize(
    ("body", "code"), [(b"400\r\n" + b"a" * 1024, "content_too_large"), (b"zz\r\n", "malformed_request")]
)
async def test_a_body_that_turns_out_wrong_is_refused_and_closed(body: bytes, code: str) -> None:
    async with on_stage() as stage:
        client = stage.connect()
        answer = await client.ask(post(body=body, length="", extra=CHUNKED))
        assert (answer.code, answer.closes) == (code, True)
        assert await client.is_closed()


async def test_what_comes_after_a_refusal_is_dropped_within_a_bound() -> None:
    async with on_stage() as stage:
        client = stage.connect()
        assert (await client.ask(post(length="100000000"))).code == "content_too_large"
        for _ in range(4):
            await client.tell(b"a" * 65536)
            await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.BrokenResourceError):
            await client.tell(b"a")


async def test_a_peer_that_stops_in_the_middle_is_told_so() -> None:
    async with on_stage() as stage:
        for part in (b"POST /ec", post(length="100")):
            client = stage.connect()
            await client.tell(part)
            assert isinstance(client.stream, trio.StapledStream)
            await client.stream.send_eof()
            assert (await client.hear()).code == "malformed_request"


async def test_a_half_closed_peer_still_gets_its_answer() -> None:
    async with on_stage() as stage:
        client = stage.connect()
        await client.tell(post(body=b"[1]"))
        assert isinstance(client.stream, trio.StapledStream)
        await client.stream.send_eof()
        assert (await client.hear()).body == b"[1]"
        assert await client.is_closed()


async def test_a_peer_that_says_nothing_and_leaves_is_no_event() -> None:
    observer = RecordingObserver()
    async with on_stage(observer=observer) as stage:
        await stage.connect().stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        assert (observer.opened, observer.open, observer.answered) == (1, 0, [])


async def test_a_peer_that_leaves_during_its_request_harms_nobody() -> None:
    async def slow(request: Request) -> Response:
        await trio.testing.wait_all_tasks_blocked()
        return await echo(request)

    async with on_stage([route(slow)]) as stage:
        client = stage.connect()
        await client.tell(post("/try"))
        await client.stream.aclose()
        assert (await stage.connect().ask(post())).status == 200


async def ask_failing(error: Exception, observer: RecordingObserver | LogObserver) -> Answer:
    async def fail(request: Request) -> Response:
        raise error

    async with on_stage([route(fail)], observer=observer) as stage:
        client = stage.connect()
        answer = await client.ask(post("/try"))
        assert (await client.ask(post())).status == 200, "the connection goes on"
    return answer


async def test_a_handlers_refusal_is_its_answer() -> None:
    observer = RecordingObserver()
    answer = await ask_failing(Refusal("lease_fenced", "Not yours.", request_id="r7"), observer)
    assert (answer.status, answer.code, answer.json["disposition"]) == (409, "lease_fenced", "stop")
    assert (answer.json["request_id"], answer.json["detail"]) == ("r7", "Not yours.")
    assert observer.refused == [("lease_fenced", "try")]
    assert observer.failed == []


async def test_a_request_goes_by_the_id_its_sender_gave() -> None:
    async def fail(request: Request) -> Response:
        request.adopt_id("theirs")
        raise Refusal("busy")

    async with on_stage([route(fail)]) as stage:
        assert (await stage.connect().ask(post("/try"))).json["request_id"] == "theirs"


@pytest.mark.parametrize(
    "error", [KeyError("secret"), ExceptionGroup("g", [ValueError()]), OSError(5, "secret")]
)
async def test_a_handlers_bug_is_an_honest_answer(error: Exception) -> None:
    observer = RecordingObserver()
    answer = await ask_failing(error, observer)
    assert (answer.status, answer.code, answer.json["disposition"]) == (500, "internal_error", "retry")
    assert b"secret" not in answer.body
    assert observer.failed == [("try", error)]


async def test_a_bug_is_logged_under_the_id_that_the_answer_names(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "tenure_http"):
        answer = await ask_failing(KeyError("x"), LogObserver())
    assert answer.json["request_id"] in caplog.text
    assert "KeyError" in caplog.text


async def test_a_response_that_cannot_be_is_a_bug_like_others() -> None:
    async def fail(request: Request) -> Response:
        return Response(200, b"", headers=(("X", "a\r\nb"),))

    async with on_stage([route(fail)]) as stage:
        assert (await stage.connect().ask(post("/try"))).code == "internal_error"


async def test_a_bug_in_admission_is_answered_too() -> None:
    observer = RecordingObserver()

    def admit(head: Head) -> Match:
        raise KeyError(head.path)

    async with on_stage(admit=admit, observer=observer) as stage:
        assert (await stage.connect().ask(post())).code == "internal_error"
    assert len(observer.failed) == 1


async def test_a_bug_of_the_server_costs_one_connection(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(RecordingObserver):
        def request_answered(self, head: object, route: str, status: int, duration_s: float) -> None:
            super().request_answered(head, route, status, duration_s)
            if len(self.answered) == 1:
                raise KeyError

    async with on_stage(observer=Broken()) as stage:
        client = stage.connect()
        await client.ask(post())
        assert await client.is_closed()
        assert (await stage.connect().ask(post())).status == 200
    assert "a connection failed" in caplog.text


async def test_connections_beyond_the_bound_are_told_and_closed() -> None:
    observer = RecordingObserver()
    async with on_stage(limits=Limits(connections=2), observer=observer) as stage:
        first, second = stage.connect(), stage.connect()
        await trio.testing.wait_all_tasks_blocked()
        third = stage.connect()
        answer = await third.hear()
        assert (answer.code, answer.closes) == ("overloaded", True)
        await third.stream.aclose()
        await first.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        assert (await stage.connect().ask(post())).status == 200
        assert (await second.ask(post())).status == 200
        assert (observer.turned_away, stage.service.connections) == (["connections"], 2)


async def test_beyond_that_they_are_closed_at_once() -> None:
    async with on_stage(limits=Limits(connections=1)) as stage:
        clients = [stage.connect() for _ in range(1 + 64 + 5)]
        await trio.testing.wait_all_tasks_blocked()
        received = [await client.stream.receive_some(1000) for client in clients[1:]]
    assert (len([data for data in received if data]), received.count(b"")) == (64, 5)


async def test_requests_beyond_the_bound_are_refused_before_their_body() -> None:
    gate = trio.Event()

    async def wait(request: Request) -> Response:
        await gate.wait()
        return await echo(request)

    probe = Route("probe", "GET", "/probe", echo, counted=False)
    async with on_stage([route(wait), probe], limits=Limits(in_flight=2)) as stage:
        clients = [stage.connect() for _ in range(2)]
        for client in clients:
            await client.tell(post("/try"))
        await trio.testing.wait_all_tasks_blocked()
        assert stage.service.in_flight == 2
        refused = await stage.connect().ask(post(body=b"", length="10"))
        assert (refused.status, refused.code) == (503, "overloaded")
        assert (await stage.connect().ask(get("/probe"))).status == 200
        gate.set()
        assert [(await client.hear()).status for client in clients] == [200, 200]
        assert stage.service.in_flight == 0
        assert (await stage.connect().ask(post())).status == 200


async def test_an_unread_body_counts_as_in_flight() -> None:
    async with on_stage(limits=Limits(in_flight=1)) as stage:
        client = stage.connect()
        await client.tell(post(body=b"", length="2"))
        await trio.testing.wait_all_tasks_blocked()
        assert (await stage.connect().ask(post())).code == "overloaded"
        assert (await client.ask(b"[]")).status == 200


async def test_bodies_on_their_way_are_bounded_together() -> None:
    async with on_stage(limits=Limits(in_flight_body_bytes=1500)) as stage:
        first, second, third = (stage.connect() for _ in range(3))
        for client in (first, second, third):
            await client.tell(post(body=b"", length="1000"))
        await trio.testing.wait_all_tasks_blocked()
        await first.tell(b"a" * 900)
        await trio.testing.wait_all_tasks_blocked()
        refused = await second.ask(b"a" * 900)
        assert (refused.status, refused.code, refused.closes) == (503, "overloaded", True)
        assert (await first.ask(b"a" * 100)).status == 200
        assert (await third.ask(b"a" * 1000)).status == 200
        assert stage.service._traffic.held_bytes == 0


async def test_the_router_is_an_admission_and_can_be_wrapped() -> None:
    router = Router([echo_route()])

    def admit(head: Head) -> Match:
        match = router(head)
        if head.header("authorization") is None:
            raise Refusal("credential_required")
        return match

    async with on_stage(admit=admit) as stage:
        client = stage.connect()
        assert (await client.ask(post())).code == "credential_required"
        assert (await client.ask(post("/nowhere"))).code == "unknown_route"
        assert (await client.ask(post(extra=["Authorization: Bearer x"]))).status == 200
