"""The operator API: what people and their tools say to control.

`operator_routes(surface)` is the table of all routes over an open database; `enrol` makes the first operator.

Every call authenticates its token in the database. A call that writes does so twice: before its body is
looked at, and again inside the transaction of its effect, where its audit row is written first.
"""

from tenure_control.operator.enrol import enrol_operator, knows_token
from tenure_control.operator.surface import Surface
from tenure_control.operator.table import operator_routes

__all__ = ["Surface", "enrol_operator", "knows_token", "operator_routes"]
