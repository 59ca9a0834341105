-- Projects and what they define: mutable heads that point at immutable, numbered, digest-covered revisions.

CREATE TABLE tenure.projects (
    project    text PRIMARY KEY,
    state      text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'archived')),
    version    integer NOT NULL DEFAULT 1,
    weight     integer NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000),
    created_at timestamptz NOT NULL
);

-- How much of a priority a project has had: the tag at which its next attempt may start. In a row of its own, because
-- every admission locks it, and locks it last. One row for each priority, made with the project: a flood of a project's
-- unimportant work must not make its important work wait.
CREATE TABLE tenure.project_shares (
    project       text NOT NULL REFERENCES tenure.projects,
    priority      smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    next_fair_tag double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (priority, project)
) WITH (fillfactor = 50);

-- One row per distinct compiled placement. Class numbers become visible in their own order (the publisher holds a
-- table lock), so a session that has seen class N has seen every class below it.
CREATE TABLE tenure.placement_classes (
    class     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest    bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
    placement jsonb NOT NULL
);

CREATE TABLE tenure.task_heads (
    project          text NOT NULL REFERENCES tenure.projects,
    task             text NOT NULL,
    current_revision integer NOT NULL CHECK (current_revision >= 1),
    state            text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'archived')),
    version          integer NOT NULL DEFAULT 1,
    created_at       timestamptz NOT NULL,
    PRIMARY KEY (project, task)
);

CREATE TABLE tenure.task_revisions (
    project     text NOT NULL,
    task        text NOT NULL,
    revision    integer NOT NULL CHECK (revision >= 1),
    digest      bytea NOT NULL CHECK (octet_length(digest) = 32),
    spec        text NOT NULL,          -- canonical JSON, exactly the bytes that the digest covers
    class       integer NOT NULL REFERENCES tenure.placement_classes,
    priority    smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    timeout_us  bigint CHECK (timeout_us BETWEEN 1000 AND 2592000000000),
    retry       jsonb NOT NULL,         -- the compiled policy, copied to every run that pins this revision
    mutation_id uuid NOT NULL UNIQUE,
    created_by  text NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (project, task, revision),
    FOREIGN KEY (project, task) REFERENCES tenure.task_heads DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE tenure.trigger_heads (
    project          text NOT NULL REFERENCES tenure.projects,
    trigger          text NOT NULL,
    current_revision integer NOT NULL CHECK (current_revision >= 1),
    state            text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'archived')),
    version          integer NOT NULL DEFAULT 1,
    created_at       timestamptz NOT NULL,
    PRIMARY KEY (project, trigger)
);

CREATE TABLE tenure.trigger_revisions (
    project       text NOT NULL,
    trigger       text NOT NULL,
    revision      integer NOT NULL CHECK (revision >= 1),
    digest        bytea NOT NULL CHECK (octet_length(digest) = 32),
    spec          text NOT NULL,        -- canonical JSON, exactly the bytes that the digest covers
    task          text NOT NULL,
    task_revision integer NOT NULL,
    task_digest   bytea NOT NULL CHECK (octet_length(task_digest) = 32),
    mutation_id   uuid NOT NULL UNIQUE,
    created_by    text NOT NULL,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (project, trigger, revision),
    FOREIGN KEY (project, trigger) REFERENCES tenure.trigger_heads DEFERRABLE INITIALLY DEFERRED,
    FOREIGN KEY (project, task, task_revision) REFERENCES tenure.task_revisions
);

-- The scheduling row of one trigger. A claim is a short row lease: it authorises one decision by one replica.
CREATE TABLE tenure.trigger_cursors (
    project          text NOT NULL,
    trigger          text NOT NULL,
    revision         integer NOT NULL,
    state            text NOT NULL DEFAULT 'idle' CHECK (state IN ('idle', 'claimed')),
    state_version    bigint NOT NULL DEFAULT 1,
    due_at           timestamptz,       -- when the schedule stage should look next; NULL: never (paused, archived, ended)
    next_fire_at     timestamptz,       -- NULL until the cursor is initialised
    last_fire_at     timestamptz,
    last_observed_at timestamptz,
    last_decision    text CHECK (last_decision IN ('initialize', 'skip', 'admit')),
    event_sequence   integer NOT NULL DEFAULT 0,
    claim_owner      text,
    claim_token      uuid,
    claim_version    bigint NOT NULL DEFAULT 0,
    claim_expires_at timestamptz,
    PRIMARY KEY (project, trigger),
    FOREIGN KEY (project, trigger) REFERENCES tenure.trigger_heads,
    FOREIGN KEY (project, trigger, revision) REFERENCES tenure.trigger_revisions,
    -- A claim is whole or absent, and a claimed cursor has one.
    CHECK ((state = 'claimed') = (claim_owner IS NOT NULL)),
    CHECK (num_nonnulls(claim_owner, claim_token, claim_expires_at) IN (0, 3)),
    -- The stage looks at a cursor no later than its next fire time.
    CHECK (next_fire_at IS NULL OR due_at IS NULL OR due_at <= next_fire_at)
);

-- Serves the schedule claim: the cursor that is due longest.
CREATE INDEX trigger_cursors_due ON tenure.trigger_cursors (due_at, project, trigger) WHERE due_at IS NOT NULL;

CREATE TABLE tenure.trigger_events (
    project  text NOT NULL,
    trigger  text NOT NULL,
    sequence integer NOT NULL,
    type     text NOT NULL,
    actor    text NOT NULL,
    at       timestamptz NOT NULL,
    payload  jsonb NOT NULL,
    PRIMARY KEY (project, trigger, sequence),
    FOREIGN KEY (project, trigger) REFERENCES tenure.trigger_heads
);
