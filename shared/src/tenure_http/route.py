"""Routes as a table, and their lookup from the request line alone.

A lookup needs no body, so the bound of the body, its media type and every refusal that depends on the route
are known before the first byte of the body is read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from tenure_contracts.error import Refusal
from tenure_http.message import JSON, Head, Request, Response

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Route:
    """One row of a route table.

    `path` has literal segments and `{parameter}` segments. `name` labels metrics and logs. `body_bytes`
    bounds the body; 0 means that it takes none. `media_type` None takes any. A route that is not `counted`
    is served even when the bound of requests in flight is reached, and a stop does not wait for its requests.
    """

    name: str
    method: str
    path: str
    handler: Handler
    body_bytes: int = 0
    media_type: str | None = JSON
    counted: bool = True

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the path's parameters, in order."""
        return tuple(segment[1:-1] for segment in _segments(self.path) if _is_parameter(segment))


@dataclass(frozen=True, slots=True)
class Match:
    """A route and the values of its parameters, percent-decoded."""

    route: Route
    parameters: dict[str, str]


Admit = Callable[[Head], Match]
"""Decides about a request before its body: the route, or a `Refusal`. Must not block."""


@dataclass(slots=True)
class _Node:
    literals: dict[str, _Node] = field(default_factory=dict)
    parameter: _Node | None = None
    routes: dict[str, tuple[Route, tuple[str, ...]]] = field(default_factory=dict)


class Router:
    """Looks requests up in a table of routes, in time that depends on the depth of the path alone.

    At each segment a literal wins over a parameter; there is no backtracking.

    Raises:
        ValueError: when two routes have the same method and shape.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        for route in routes:
            self._add(route)

    def __call__(self, head: Head) -> Match:
        """The route of `head`: a `Router` is the plainest `Admit`.

        Raises:
            Refusal: `unknown_route`, `method_not_allowed` (member `allow`), `malformed_request` (bad escape).
        """
        values: list[str] = []
        node = self._find(head.path, values)
        if node is None or not node.routes:
            raise Refusal("unknown_route")
        route, names = _select(node, head.method)
        return Match(route, dict(zip(names, values, strict=True)))

    def _find(self, path: str, values: list[str]) -> _Node | None:
        node = self._root
        for segment in _decoded(path):
            below = node.literals.get(segment)
            if below is None and segment:
                values.append(segment)
                below = node.parameter
            if below is None:
                return None
            node = below
        return node

    def _add(self, route: Route) -> None:
        node = self._root
        for segment in _segments(route.path):
            node = _child(node, segment)
        if route.method in node.routes:
            raise ValueError(f"{route.method} {route.path} is in the table twice")
        node.routes[route.method] = (route, route.parameters)


def _child(node: _Node, segment: str) -> _Node:
    if not _is_parameter(segment):
        return node.literals.setdefault(segment, _Node())
    if node.parameter is None:
        node.parameter = _Node()
    return node.parameter


def _select(node: _Node, method: str) -> tuple[Route, tuple[str, ...]]:
    found = node.routes.get(method)
    if found is None and method == "HEAD":
        found = node.routes.get("GET")
    if found is None:
        raise Refusal("method_not_allowed", allow=_allowed(node))
    return found


def _allowed(node: _Node) -> list[str]:
    implied = ["HEAD"] if "GET" in node.routes else []
    return sorted({*node.routes, *implied})


def _is_parameter(segment: str) -> bool:
    return segment.startswith("{") and segment.endswith("}")


def _segments(path: str) -> list[str]:
    root, *segments = path.split("/")
    if root or not segments:
        raise ValueError(f"{path!r} does not begin with a slash")
    return segments


def _decoded(path: str) -> list[str]:
    root, *segments = path.split("/")
    if root or not segments:
        raise Refusal("unknown_route")
    if "%" not in path:
        return segments
    try:
        return [unquote_to_bytes(segment).decode("utf-8") for segment in segments]
    except UnicodeDecodeError as error:
        raise Refusal("malformed_request", "The path is not percent-encoded UTF-8.") from error
