-- Workers, their sessions and their credentials.

-- The row that registrations of one worker lock, so that two of them can never both become current.
CREATE TABLE tenure.workers (
    worker             text PRIMARY KEY,
    session_generation integer NOT NULL DEFAULT 0,
    last_takeover_at   timestamptz,     -- when a live session was last replaced on request
    created_at         timestamptz NOT NULL
);

CREATE TABLE tenure.worker_credentials (
    credential text NOT NULL,
    version    integer NOT NULL CHECK (version >= 1),
    worker     text NOT NULL REFERENCES tenure.workers,
    digest     bytea NOT NULL CHECK (octet_length(digest) = 32),
    state      text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'revoked')),
    not_before timestamptz NOT NULL,
    expires_at timestamptz,             -- NULL: until it is revoked or rotated
    request_id uuid NOT NULL UNIQUE,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    first_used_at timestamptz,          -- set once, by the first call that presented it
    PRIMARY KEY (credential, version)
);

CREATE INDEX worker_credentials_of_worker ON tenure.worker_credentials (worker);

-- One row per session id, kept for ever: an id must never look new again.
CREATE TABLE tenure.worker_sessions (
    session            uuid PRIMARY KEY,
    worker             text NOT NULL REFERENCES tenure.workers,
    generation         integer NOT NULL,
    status             text NOT NULL CHECK (status IN ('online', 'draining', 'offline', 'replaced')),
    version            integer NOT NULL,
    labels             jsonb NOT NULL,
    executors          text[] NOT NULL,
    handlers           text[] NOT NULL,
    lease_limit        integer NOT NULL CHECK (lease_limit >= 1),
    session_lease      interval NOT NULL,
    agent              text NOT NULL,
    classes            integer[] NOT NULL,      -- placement classes that this session matches
    classes_seen       integer NOT NULL,        -- the greatest class that was looked at
    replaced_session   uuid,                    -- whom this session replaced when it registered
    registered_at      timestamptz NOT NULL,
    seen_at            timestamptz NOT NULL,
    expires_at         timestamptz NOT NULL,
    drain_requested_at timestamptz,
    ended_at           timestamptz,
    UNIQUE (worker, generation)
) WITH (fillfactor = 70);

-- At most one current session per worker.
CREATE UNIQUE INDEX worker_sessions_current ON tenure.worker_sessions (worker)
    WHERE status IN ('online', 'draining', 'offline');
