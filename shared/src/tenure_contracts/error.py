"""The closed table of refusals: code → status, disposition, title.

Every refusal of both HTTP surfaces is a `Refusal` with a code of these tables. The disposition tells a
worker what to do, without reading prose:

- `retry`: the same request, later;
- `refresh`: repeat with what the answer says;
- `stop`: authority is gone: stop the process, keep evidence;
- `settled`: control has decided; drop it;
- `fix`: the request is wrong; do not repeat it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Disposition = Literal["retry", "refresh", "stop", "settled", "fix"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a code means on the wire. `retry_after_s` is the default of its Retry-After header, if any."""

    status: int
    disposition: Disposition
    title: str
    retry_after_s: float | None = None


WORKER_CODES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "malformed_request": Rule(400, "fix", "The request is malformed"),
        "invalid_json": Rule(400, "fix", "The body is not JSON"),
        "unknown_field": Rule(400, "fix", "The body has an unknown field"),
        "invalid_field": Rule(400, "fix", "A field is invalid"),
        "credential_required": Rule(401, "fix", "A credential is required"),
        "credential_refused": Rule(401, "fix", "The credential is refused"),
        "unknown_route": Rule(404, "fix", "There is no such route"),
        "unknown_attempt": Rule(404, "settled", "There is no such attempt"),
        "method_not_allowed": Rule(405, "fix", "The method is not allowed"),
        "request_timeout": Rule(408, "retry", "The request took too long to arrive"),
        "length_required": Rule(411, "fix", "The length of the body is required"),
        "content_too_large": Rule(413, "fix", "The body is too large"),
        "uri_too_long": Rule(414, "fix", "The target is too long"),
        "unsupported_media_type": Rule(415, "fix", "The body must be application/json"),
        "expectation_failed": Rule(417, "fix", "The expectation cannot be met"),
        "upgrade_required": Rule(426, "fix", "Another protocol version is required"),
        "header_too_large": Rule(431, "fix", "The header is too large"),
        "session_conflict": Rule(409, "retry", "A live session of this worker exists", 5.0),
        "session_fenced": Rule(409, "stop", "The session has ended"),
        "lease_fenced": Rule(409, "stop", "The lease belongs to another generation or holder"),
        "lease_expired": Rule(409, "refresh", "The lease ran out before the start"),
        "lease_not_started": Rule(409, "fix", "The attempt was not started under this lease"),
        "already_started": Rule(409, "fix", "The attempt is past its start"),
        "handle_conflict": Rule(409, "fix", "The attempt runs under another executor handle"),
        "content_conflict": Rule(409, "fix", "The same report was made with other content"),
        "stop_requested": Rule(409, "stop", "The attempt is asked to stop"),
        "attempt_settled": Rule(409, "settled", "The attempt is settled"),
        "attestation_conflict": Rule(409, "refresh", "The attestation is not the next one"),
        "too_many_failures": Rule(429, "retry", "Too many failed authentications", 10.0),
        "not_available": Rule(501, "fix", "This call is not available here"),
        "starting": Rule(503, "retry", "The server is starting", 1.0),
        "draining": Rule(503, "retry", "The server is stopping", 1.0),
        "database_unavailable": Rule(503, "retry", "The database is unavailable", 2.0),
        "overloaded": Rule(503, "retry", "The server is overloaded", 1.0),
        "busy": Rule(503, "retry", "A row is locked by someone else", 0.5),
    }
)
"""The worker protocol's codes: `wire.md` §1 to the letter, closed."""

OPERATOR_CODES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "invalid_definition": Rule(400, "fix", "A definition is invalid"),
        "forbidden": Rule(403, "fix", "The token's role does not allow this"),
        "not_found": Rule(404, "fix", "There is no such object"),
        "archived": Rule(409, "fix", "The object is archived"),
        "idempotency_conflict": Rule(409, "fix", "The same key was used with other content"),
        "state_conflict": Rule(409, "refresh", "The object's state does not allow this"),
        "generation_conflict": Rule(409, "refresh", "The lease generation is not the current one"),
        "lease_live": Rule(409, "refresh", "The lease is live"),
        "revision_conflict": Rule(412, "refresh", "The current revision is another one"),
        "internal_error": Rule(500, "retry", "The server failed", 5.0),
    }
)
"""What the operator API needs beside the shared codes."""

CODES: Final[Mapping[str, Rule]] = MappingProxyType({**WORKER_CODES, **OPERATOR_CODES})


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, and the word of the protocol
    """A request is answered with a problem document instead of its effect.

    `code` is a key of `CODES` (an unknown one is a KeyError here, not on the wire). `detail` is a
    sentence for people, without secrets. `retry_after_s` defaults to the table's. `members` are extra
    members of the problem document, such as `last_sequence`.
    """

    def __init__(
        self, code: str, detail: str = "", *, retry_after_s: float | None = None, **members: object
    ) -> None:
        self.rule: Final = CODES[code]
        super().__init__(f"{code}: {detail or self.rule.title}")
        self.code: Final = code
        self.detail: Final = detail or f"{self.rule.title}."
        self.retry_after_s: Final = self.rule.retry_after_s if retry_after_s is None else retry_after_s
        self.members: Final[Mapping[str, object]] = members

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return self.rule.status

    @property
    def disposition(self) -> Disposition:
        """What the caller shall do."""
        return self.rule.disposition
