-- Operators: who they are, what they may do where, and what they did.

CREATE TABLE tenure.operators (
    operator   text PRIMARY KEY,
    created_at timestamptz NOT NULL
);

CREATE TABLE tenure.role_bindings (
    operator   text NOT NULL REFERENCES tenure.operators,
    project    text NOT NULL,           -- '*': every project
    role       text NOT NULL CHECK (role IN ('owner', 'admin', 'operator', 'viewer')),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (operator, project)
);

CREATE TABLE tenure.operator_tokens (
    token      text PRIMARY KEY,
    operator   text NOT NULL REFERENCES tenure.operators,
    digest     bytea NOT NULL CHECK (octet_length(digest) = 32),
    state      text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'revoked')),
    expires_at timestamptz,
    created_at timestamptz NOT NULL
);

-- Append-only. A row is written before the effect that it speaks of, in the same transaction.
CREATE TABLE tenure.security_audit_events (
    event      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL,
    actor      text NOT NULL,
    action     text NOT NULL,
    object     text NOT NULL,
    request_id uuid,
    detail     jsonb NOT NULL
);

-- Serves the replay of a call: a request id has one effect, whoever sends it again, and a second one under the same
-- id waits here for the first.
CREATE UNIQUE INDEX security_audit_events_request ON tenure.security_audit_events (request_id)
    WHERE request_id IS NOT NULL;
