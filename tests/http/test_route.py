"""The table of routes and its lookup."""

from __future__ import annotations

import pytest

from tenure_contracts.error import Refusal
from tenure_http import Head, Route, Router
from tests.http.stage import echo


def head(method: str, path: str) -> Head:
    return Head(method, path, path, "", {}, "", None, chunked=False, keep_alive=True)


def named(name: str, method: str, path: str) -> Route:
    return Route(name, method, path, echo)


TABLE = (
    named("root", "GET", "/"),
    named("renew", "POST", "/v1/sessions/{session}/renew"),
    named("drain", "POST", "/v1/sessions/{session}/drain"),
    named("project", "GET", "/v1/projects/{p}"),
    named("put_project", "PUT", "/v1/projects/{p}"),
    named("default", "GET", "/v1/projects/default"),
    named("run", "GET", "/v1/projects/{p}/runs/{run}"),
)


@pytest.mark.parametrize(
    ("method", "path", "name", "parameters"),
    [
        ("GET", "/", "root", {}),
        ("POST", "/v1/sessions/s1/renew", "renew", {"session": "s1"}),
        ("PUT", "/v1/projects/shop", "put_project", {"p": "shop"}),
        ("GET", "/v1/projects/default", "default", {}),
        ("HEAD", "/v1/projects/shop", "project", {"p": "shop"}),
        ("GET", "/v1/projects/shop/runs/7", "run", {"p": "shop", "run": "7"}),
        ("GET", "/v1/projects/sh%C3%B6p%2Fx", "project", {"p": "shöp/x"}),
    ],
)
def test_found(method: str, path: str, name: str, parameters: dict[str, str]) -> None:
    match = Router(TABLE)(head(method, path))
    assert (match.route.name, match.parameters) == (name, parameters)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/v1", "unknown_route"),
        ("GET", "/v1/", "unknown_route"),
        ("GET", "//", "unknown_route"),
        ("GET", "*", "unknown_route"),
        ("GET", "http://elsewhere/", "unknown_route"),
        ("CONNECT", "host:443", "unknown_route"),
        ("POST", "/v1/sessions//renew", "unknown_route"),
        ("POST", "/v1/sessions/s/renew/", "unknown_route"),
        ("POST", "/v1/sessions/s/unknown", "unknown_route"),
        ("GET", "/v1/projects/%FF", "malformed_request"),
        ("DELETE", "/v1/projects/shop", "method_not_allowed"),
        ("HEAD", "/v1/sessions/s/renew", "method_not_allowed"),
    ],
)
def test_refused(method: str, path: str, code: str) -> None:
    with pytest.raises(Refusal) as caught:
        Router(TABLE)(head(method, path))
    assert caught.value.code == code


def test_a_wrong_method_names_the_right_ones() -> None:
    with pytest.raises(Refusal) as caught:
        Router(TABLE)(head("DELETE", "/v1/projects/shop"))
    assert caught.value.members["allow"] == ["GET", "HEAD", "PUT"]


def test_a_table_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        Router([named("a", "GET", "/x/{a}"), named("b", "GET", "/x/{b}")])
    with pytest.raises(ValueError, match="slash"):
        Router([named("a", "GET", "x")])
