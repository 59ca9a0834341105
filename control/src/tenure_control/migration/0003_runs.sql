-- Runs, attempts, leases and their events: the aggregate whose lock is the run row.

CREATE TABLE tenure.runs (
    run                 uuid PRIMARY KEY,
    project             text NOT NULL REFERENCES tenure.projects,
    kind                text NOT NULL CHECK (kind IN ('task', 'workflow')),
    task                text,
    task_revision       integer,
    task_digest         bytea,
    cause               text NOT NULL CHECK (cause IN ('cron', 'manual', 'rerun')),
    trigger             text,
    trigger_revision    integer,
    scheduled_for       timestamptz,
    rerun_of            uuid REFERENCES tenure.runs,
    status              text NOT NULL CHECK (status IN ('queued', 'dispatching', 'running', 'retry_wait', 'lost',
                                                        'succeeded', 'failed', 'cancelled', 'timed_out')),
    version             integer NOT NULL,
    event_sequence      integer NOT NULL,
    priority            smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    idempotency_key     text NOT NULL,
    requested_revision  integer,        -- what the submitter asked for: a replay compares this, not what it became
    requested_priority  smallint,
    plan                text,           -- what an attempt executes (canonical JSON); nothing is rendered after admission
    plan_digest         bytea CHECK (octet_length(plan_digest) = 32),
    timeout_us          bigint,
    input               jsonb NOT NULL,
    output              jsonb,
    output_flag         text CHECK (output_flag IN ('too_large', 'invalid')),
    error_code          text,
    error_message       text,
    cancel_requested_at timestamptz,
    cancel_reason       text CHECK (cancel_reason IN ('user', 'policy')),
    next_attempt_at     timestamptz,
    unstarted_claims    integer NOT NULL DEFAULT 0,   -- claims that expired or were declined since the last start
    created_at          timestamptz NOT NULL,
    queued_at           timestamptz,
    started_at          timestamptz,
    finished_at         timestamptz,
    UNIQUE (project, idempotency_key),
    FOREIGN KEY (project, task, task_revision) REFERENCES tenure.task_revisions,
    -- Version and event sequence rise together, one per event.
    CHECK (version = event_sequence),
    -- A task run pins one exact revision and carries its plan; a workflow run pins its revision elsewhere.
    CHECK ((kind = 'task') = (num_nonnulls(task, task_revision, task_digest, plan, plan_digest) = 5)),
    -- Terminal and finished are one fact, waiting for a retry and having a time for it are one fact.
    CHECK ((status IN ('succeeded', 'failed', 'cancelled', 'timed_out')) = (finished_at IS NOT NULL)),
    CHECK ((status = 'retry_wait') = (next_attempt_at IS NOT NULL)),
    CHECK ((cancel_requested_at IS NULL) = (cancel_reason IS NULL)),
    CHECK ((cause = 'cron') = (scheduled_for IS NOT NULL AND trigger IS NOT NULL))
) WITH (fillfactor = 80);

-- Serves the lists of the operator API: newest first, keyset by run id (version 7: time-ordered).
CREATE INDEX runs_by_project ON tenure.runs (project, run DESC);
-- Serves the retry stage: due runs and runs that wait for the decision after a loss.
CREATE INDEX runs_retry_due ON tenure.runs (next_attempt_at, run) WHERE status = 'retry_wait';
CREATE INDEX runs_lost ON tenure.runs (run) WHERE status = 'lost';
-- Serves overlap decisions: the unfinished runs of one trigger.
CREATE INDEX runs_open_of_trigger ON tenure.runs (project, trigger, run)
    WHERE trigger IS NOT NULL AND finished_at IS NULL;
-- Serves attempt admission: queued runs, of which the stage takes those without an attempt.
CREATE INDEX runs_queued ON tenure.runs (run) WHERE status = 'queued';
-- Serves the workflow frontier: workflow runs that are not finished.
CREATE INDEX runs_open_workflows ON tenure.runs (run) WHERE kind = 'workflow' AND finished_at IS NULL;
-- Serves cancellation convergence: intents that have not ended their run yet.
CREATE INDEX runs_cancel_requested ON tenure.runs (run) WHERE cancel_requested_at IS NOT NULL AND finished_at IS NULL;

-- The policy a run was admitted under. Later revisions never touch it.
CREATE TABLE tenure.run_retry_policies (
    run                      uuid PRIMARY KEY REFERENCES tenure.runs,
    max_attempts             smallint NOT NULL CHECK (max_attempts BETWEEN 1 AND 16),
    on_failed                boolean NOT NULL,
    on_timed_out             boolean NOT NULL,
    on_lost                  boolean NOT NULL,
    safety                   text NOT NULL CHECK (safety IN ('unknown', 'idempotent', 'deduplicated')),
    delays_us                bigint[] NOT NULL,       -- [n]: the wait before try n + 1
    exit_codes               jsonb NOT NULL,          -- {"75": "retry", "64": "fail"}
    outcome_unknown_after_us bigint,
    presume_lost_after_us    bigint,
    stop_on_lost_contact_us  bigint,
    CHECK (cardinality(delays_us) = max_attempts - 1),
    -- Declared work may be presumed lost or repeated after a loss; undeclared work may not.
    CHECK (safety <> 'unknown' OR (NOT on_lost AND presume_lost_after_us IS NULL))
);

CREATE TABLE tenure.run_attempts (
    attempt           uuid PRIMARY KEY,
    run               uuid NOT NULL REFERENCES tenure.runs,
    step              text,
    number            integer NOT NULL CHECK (number >= 1),
    try               integer NOT NULL CHECK (try >= 1),
    status            text NOT NULL CHECK (status IN ('claimed', 'starting', 'running',
                                                      'succeeded', 'failed', 'cancelled', 'timed_out', 'lost')),
    dispatchable      boolean NOT NULL,
    class             integer NOT NULL REFERENCES tenure.placement_classes,
    priority          smallint NOT NULL,
    fair_tag          double precision NOT NULL,
    ready_at          timestamptz NOT NULL,
    created_at        timestamptz NOT NULL,
    barrier_at        timestamptz,      -- database time of the start barrier
    deadline_at       timestamptz,
    started_at        timestamptz,      -- as the worker reported, clamped
    finished_at       timestamptz,
    ended_at          timestamptz,      -- database time of the terminal transition
    executor_handle   text,
    exit_code         bigint,
    output            jsonb,
    output_flag       text CHECK (output_flag IN ('too_large', 'invalid')),
    error_code        text,
    error_message     text,
    log               jsonb,
    stop_answer       text CHECK (stop_answer IN ('stopped', 'already_ended', 'ignored')),
    running_content   bytea,            -- content digest of the call that was applied: recognises its replay
    outcome_content   bytea,
    outcome_late      boolean,
    outcome_run       text,             -- the run status that was answered: a replay answers it again
    late_callbacks    smallint NOT NULL DEFAULT 0,
    UNIQUE (run, number),
    -- Only unstarted work can be dispatched: the start barrier and the flag exclude each other.
    CHECK (NOT dispatchable OR status = 'claimed'),
    -- Outside effects are possible exactly from the barrier on, and `claimed` is before it.
    CHECK (status <> 'claimed' OR (barrier_at IS NULL AND deadline_at IS NULL)),
    CHECK (status NOT IN ('starting', 'running', 'succeeded', 'timed_out', 'lost') OR barrier_at IS NOT NULL),
    CHECK ((status IN ('succeeded', 'failed', 'cancelled', 'timed_out', 'lost')) = (ended_at IS NOT NULL))
) WITH (fillfactor = 80);

-- The last net below the run lock: one active attempt per run or step.
CREATE UNIQUE INDEX run_attempts_active ON tenure.run_attempts (run, step) NULLS NOT DISTINCT
    WHERE status IN ('claimed', 'starting', 'running');
-- Serves the claim: the head of each placement class. Finished attempts are not in it.
CREATE INDEX run_attempts_dispatchable ON tenure.run_attempts (class, priority DESC, fair_tag, ready_at, attempt)
    WHERE dispatchable;
-- Serves the fair tag: the virtual time of one priority is the greatest tag in service, where nothing waits.
CREATE INDEX run_attempts_virtual_time ON tenure.run_attempts (priority, fair_tag)
    WHERE NOT dispatchable AND status IN ('claimed', 'starting', 'running');
-- Serves recovery: started attempts, whatever became of their lease.
CREATE INDEX run_attempts_started ON tenure.run_attempts (attempt) WHERE status IN ('starting', 'running');

-- The only authority to execute one attempt. Renewal is the hottest write of the system: the row is narrow, has
-- room for updates in place, and no index contains anything that a renewal changes.
CREATE TABLE tenure.run_leases (
    attempt           uuid PRIMARY KEY REFERENCES tenure.run_attempts,
    state             text NOT NULL CHECK (state IN ('leased', 'released', 'completed')),
    generation        integer NOT NULL CHECK (generation >= 1),
    version           integer NOT NULL CHECK (version >= 1),
    worker            text NOT NULL,
    session           uuid NOT NULL,
    offer             uuid NOT NULL UNIQUE,
    token_digest      bytea NOT NULL CHECK (octet_length(token_digest) = 32),
    acquired_at       timestamptz NOT NULL,
    renewed_at        timestamptz NOT NULL,
    expires_at        timestamptz NOT NULL,
    stop_reason       text CHECK (stop_reason IN ('user', 'timeout', 'policy')),
    stop_requested_at timestamptz,
    deadline_at       timestamptz,
    attested_state    text CHECK (attested_state IN ('running', 'stopped')),
    attested_sequence integer,
    attested_at       timestamptz,
    release_reason    text CHECK (release_reason IN ('declined', 'shutdown', 'lease_expired', 'superseded', 'settled')),
    CHECK ((state = 'released') = (release_reason IS NOT NULL)),
    CHECK ((stop_reason IS NULL) = (stop_requested_at IS NULL)),
    CHECK (num_nonnulls(attested_state, attested_sequence, attested_at) IN (0, 3))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- Serves recovery's walk over live leases; holds no expiry, so that renewals stay in place.
CREATE INDEX run_leases_live ON tenure.run_leases (attempt) WHERE state = 'leased';
-- Serves capacity and the release of what a session holds.
CREATE INDEX run_leases_of_session ON tenure.run_leases (session) WHERE state = 'leased';

-- Every offer that was ever answered. The lease row forgets an offer when the attempt is claimed again; an offer id
-- must never claim anew.
CREATE TABLE tenure.spent_offers (
    offer            uuid PRIMARY KEY,
    attempt          uuid NOT NULL REFERENCES tenure.run_attempts,
    lease_generation integer NOT NULL,
    worker           text NOT NULL,
    token_digest     bytea NOT NULL,
    UNIQUE (attempt, lease_generation)
);

-- Who gave unstarted work back, and when: the same session is not offered it again for a while.
CREATE TABLE tenure.attempt_declines (
    attempt     uuid NOT NULL REFERENCES tenure.run_attempts,
    session     uuid NOT NULL,
    declined_at timestamptz NOT NULL,
    PRIMARY KEY (attempt, session)
);

-- Append-only and gapless per run.
CREATE TABLE tenure.run_events (
    run         uuid NOT NULL REFERENCES tenure.runs,
    sequence    integer NOT NULL CHECK (sequence >= 1),
    type        text NOT NULL,
    from_status text,
    to_status   text,
    actor       text NOT NULL,
    at          timestamptz NOT NULL,
    dedupe_key  text NOT NULL,
    payload     jsonb NOT NULL,
    PRIMARY KEY (run, sequence),
    UNIQUE (run, dedupe_key)
);

-- What recovery knows about one attempt that it could not decide yet. Claims permit investigating only.
CREATE TABLE tenure.recovery_controls (
    attempt           uuid PRIMARY KEY REFERENCES tenure.run_attempts,
    status            text NOT NULL CHECK (status IN ('available', 'claimed', 'resolved', 'retry', 'manual')),
    lease_generation  integer NOT NULL,
    lease_version     integer NOT NULL,
    attested_sequence integer,
    claim_owner       text,
    claim_token       uuid,
    claim_version     bigint NOT NULL DEFAULT 0,
    claim_expires_at  timestamptz,
    next_claim_at     timestamptz,
    failure_count     integer NOT NULL DEFAULT 0,
    last_answer       text,
    updated_at        timestamptz NOT NULL,
    CHECK ((status = 'claimed') = (claim_owner IS NOT NULL)),
    CHECK (num_nonnulls(claim_owner, claim_token, claim_expires_at) IN (0, 3)),
    CHECK ((status = 'retry') = (next_claim_at IS NOT NULL))
);
