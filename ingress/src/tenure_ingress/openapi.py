"""The OpenAPI 3.1 document of the worker protocol, made from the table of calls and the message types.

Nothing here says a second time what those say: schemas are those that bodies are decoded with, refusals
those of the closed table, headers those that the border of HTTP writes beside each code.
"""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, get_args

from tenure_contracts.error import CODES, Refusal
from tenure_contracts.wire.codec import Report, schemas
from tenure_contracts.wire.completion import ErrorReport, LogReport
from tenure_contracts.wire.exchange import Item
from tenure_contracts.wire.problem import MEMBERS, Problem
from tenure_http import JSON, Limits, problem
from tenure_http.problem import PROBLEM_JSON
from tenure_ingress.call import CALLS, COMMON, READ, Call
from tenure_ingress.example import SESSION, example

Json: TypeAlias = dict[str, Any]

_SCHEMAS: Final = "#/components/schemas/"
_HEADERS: Final[Mapping[str, Json]] = {
    "Allow": {
        "description": "The methods of the route.",
        "schema": {"type": "string"},
    },
    "Connection": {
        "description": "`close` when the connection ends with this answer.",
        "schema": {"type": "string"},
    },
    "Retry-After": {
        "description": "Whole seconds to wait before the same request is sent again.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "Upgrade": {
        "description": "The protocol that is spoken here.",
        "schema": {"type": "string", "const": "HTTP/1.1"},
    },
    "WWW-Authenticate": {
        "description": "How to authenticate.",
        "schema": {"type": "string"},
    },
}


def text() -> str:
    """The document as JSON text: the same text for the same code, keys in order."""
    return json.dumps(document(), ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def document() -> Json:
    """The document as plain JSON values, made anew."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tenure worker protocol",
            "version": "1",
            "description": _description(Limits()),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"worker": []}],
        "paths": {call.path: _path(call) for call in CALLS},
        "components": {
            "securitySchemes": {
                "worker": {"type": "http", "scheme": "bearer", "bearerFormat": "tw1_<credential>_<secret>"}
            },
            "parameters": {"session": _session()},
            "responses": {name: _refusal(codes) for name, codes in _shared_responses().items()},
            "schemas": _message_schemas(),
        },
    }


def _description(limits: Limits) -> str:
    return (
        "What a worker says to the ingress. Every call is a POST of one JSON body in UTF-8, and every call "
        "may be repeated: a repetition has no second effect and is answered with the facts of the first.\n\n"
        "Times are RFC 3339 with an offset; answers are in UTC with microseconds. UUIDs in bodies may be "
        "written without hyphens. Bytes are base64url without padding. Integers are written without fraction "
        "and exponent. Of a key that occurs twice the last one counts. Requests with unknown keys are "
        "refused; fields may be added to answers.\n\n"
        f"The header of a request has at most {limits.header_bytes} bytes in {limits.headers} lines, its "
        f"target at most {limits.target_bytes} bytes, a chunked body at most {limits.chunks} chunks. A "
        f"header takes at most {limits.header_time_s:g} s to arrive, a body {limits.body_time_s:g} s.\n\n"
        "Every refusal is a problem document (RFC 9457). `code` is of a closed table, and `disposition` "
        "tells a program what to do: `retry` the same request later, `refresh` and repeat with what the "
        "answer says, `stop` the process because authority is gone, take it as `settled`, or `fix` the "
        "request."
    )


def _session() -> Json:
    return {
        "name": "session",
        "in": "path",
        "required": True,
        "description": "The session: a UUID that the worker made, in its form of 36 characters.",
        "schema": {"type": "string", "format": "uuid"},
        "example": str(SESSION),
    }


def _path(call: Call[Any, Any]) -> Json:
    operation: Json = {
        "operationId": call.name,
        "summary": _sentence(call.message),
        "requestBody": _body(call),
        "responses": _responses(call),
    }
    return {"parameters": [{"$ref": "#/components/parameters/session"}], "post": operation}


def _body(call: Call[Any, Any]) -> Json:
    bound = f"At most {call.body_bytes} bytes, without content coding."
    if issubclass(call.message, Report):
        bound += (
            " What a program said is no reason to refuse it: text that is not JSON is repaired as far as "
            "possible, and a part that is of no use is left out."
        )
    return {
        "required": True,
        "description": bound,
        "content": {JSON: {"schema": _ref(call.message.__name__), "example": example(call.message)}},
    }


def _responses(call: Call[Any, Any]) -> Json:
    refusals = {str(status): _shared(codes) for status, codes in _by_status(call.codes).items()}
    return refusals if call.operation is None else {"200": _success(call), **refusals}


def _by_status(codes: Iterable[str]) -> dict[int, tuple[str, ...]]:
    def status(code: str) -> int:
        return CODES[code].status

    ordered = sorted(codes, key=lambda code: (status(code), code))
    return {number: tuple(group) for number, group in itertools.groupby(ordered, status)}


def _success(call: Call[Any, Any]) -> Json:
    return {
        "description": _sentence(call.answer),
        "headers": {"Connection": _HEADERS["Connection"]},
        "content": {JSON: {"schema": _ref(call.answer.__name__), "example": example(call.answer)}},
    }


def _shared_responses() -> dict[str, tuple[str, ...]]:
    """The refusals that several calls have, by name: of one code, or of all that any call is refused with."""
    single = {code: (code,) for call in CALLS for code in call.codes}
    common = {f"status_{status}": codes for status, codes in _by_status([*COMMON, *READ]).items()}
    return single | {name: codes for name, codes in common.items() if len(codes) > 1}


def _shared(codes: tuple[str, ...]) -> Json:
    for name, known in _shared_responses().items():
        if codes == known:
            return {"$ref": f"#/components/responses/{name}"}
    return _refusal(codes)


def _refusal(codes: tuple[str, ...]) -> Json:
    """The answer of one status, with all codes that come with it."""
    named = {code: _problem_name(code) for code in codes}
    schema = _ref(*named.values())
    if len(named) > 1:
        mapping = {code: _SCHEMAS + name for code, name in named.items()}
        schema["discriminator"] = {"propertyName": "code", "mapping": mapping}
    return {
        "description": "; ".join(f"`{code}` → {CODES[code].disposition}" for code in codes),
        "headers": _headers(codes),
        "content": {PROBLEM_JSON: {"schema": schema}},
    }


def _headers(codes: tuple[str, ...]) -> Json:
    """The headers beside a refusal; one that every code brings is certain to be there."""
    sent = [{name for name, _ in problem(_sample(code), "").headers} for code in codes]
    certain = set.intersection(*sent)
    return {
        name: _HEADERS[name] | ({"required": True} if name in certain else {})
        for name in sorted({"Connection"}.union(*sent))
    }


def _sample(code: str) -> Refusal:
    return Refusal(code, allow=["POST"]) if code == "method_not_allowed" else Refusal(code)


def _message_schemas() -> Json:
    """The components: every message, and one problem document for each code."""
    messages = [message for call in CALLS for message in (call.message, call.answer)]
    (*_, item), components = schemas([*messages, Problem, ErrorReport, LogReport, Item])
    # Raw in the types, because a bad item shall not refuse its neighbours: any JSON is taken.
    components["Exchange"]["properties"]["items"]["items"] = {"anyOf": [item, {}]}
    components["ExchangedItem"]["properties"]["body"] = {"anyOf": _exchanged()}
    codes = {code for call in CALLS for code in call.codes}
    problems = {_problem_name(code): _problem(code, components["Problem"]) for code in codes}
    return {**components, **problems}


def _exchanged() -> list[Json]:
    """The answers that may stand in an exchange."""
    names = {item.__struct_config__.tag for item in get_args(Item)}
    answers = {call.answer.__name__ for call in CALLS if call.name in names and call.operation}
    return [_ref(name) for name in sorted(answers)]


def _problem(code: str, common: Json) -> Json:
    """The problem document of one code: its constants, and the members that it has beside those of all."""
    rule, own = CODES[code], MEMBERS.get(code, ())
    foreign = {member for members in MEMBERS.values() for member in members} - {*own}
    fixed = {"type": "about:blank", "title": rule.title, "status": rule.status, "code": code}
    constants = {name: {"const": value} for name, value in {**fixed, "disposition": rule.disposition}.items()}
    properties = {name: schema for name, schema in common["properties"].items() if name not in foreign}
    properties["request_id"] = {"type": "string"}
    return {
        "title": _problem_name(code),
        "description": f"{rule.title}.",
        "type": "object",
        "properties": {**properties, **constants},
        "required": ["type", *common["required"], "request_id", *own],
    }


def _problem_name(code: str) -> str:
    return "".join(word.capitalize() for word in code.split("_")) + "Problem"


def _ref(*names: str) -> Json:
    references = [{"$ref": _SCHEMAS + name} for name in names]
    return references[0] if len(references) == 1 else {"oneOf": references}


def _sentence(message: type) -> str:
    return inspect.cleandoc(message.__doc__ or "").split("\n\n")[0]
