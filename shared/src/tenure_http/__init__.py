"""HTTP/1.1 for both deployables: h11 on trio, with every bound that keeps a server alive.

`serve` is the service, `Route` and `Router` the table of what it serves, `Limits` what it grants, and
`Refusal` (of the contracts) how a handler says no. Nothing here knows what Tenure does.
"""

from __future__ import annotations

from tenure_http.limits import Limits
from tenure_http.message import JSON, Head, Request, Response
from tenure_http.observer import LogObserver, Observer
from tenure_http.place import Bound, origin_of
from tenure_http.problem import problem, problem_document
from tenure_http.route import Admit, Handler, Match, Route, Router
from tenure_http.server import Drained, Service, serve

__all__ = [
    "JSON",
    "Admit",
    "Bound",
    "Drained",
    "Handler",
    "Head",
    "Limits",
    "LogObserver",
    "Match",
    "Observer",
    "Request",
    "Response",
    "Route",
    "Router",
    "Service",
    "origin_of",
    "problem",
    "problem_document",
    "serve",
]
