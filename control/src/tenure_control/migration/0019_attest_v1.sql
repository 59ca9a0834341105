-- Attestations: what somebody stated about one attempt and lease generation, for recovery to weigh.

-- Append-only. The newest sequence also stands on the lease row, so that commits can compare it.
CREATE TABLE tenure.attestations (
    attestation      uuid PRIMARY KEY,
    attempt          uuid NOT NULL REFERENCES tenure.run_attempts,
    lease_generation integer NOT NULL,
    sequence         integer NOT NULL CHECK (sequence >= 1),
    state            text NOT NULL CHECK (state IN ('running', 'stopped')),
    actor            text NOT NULL,         -- worker:<name>, proven with the lease token, or operator:<name>
    session          uuid,
    scope            text CHECK (scope IN ('cgroup', 'group', 'process', 'handler')),
    executor_handle  text,
    observed_at      timestamptz NOT NULL,
    recorded_at      timestamptz NOT NULL,
    outcome          jsonb,                 -- a late receipt: how it ended, if the worker knows
    content          bytea NOT NULL CHECK (octet_length(content) = 32),
    UNIQUE (attempt, lease_generation, sequence),
    -- A worker says from which session, and how sure it can be; an operator has neither.
    CHECK ((actor LIKE 'worker:%') = (num_nonnulls(session, scope) = 2)),
    -- Only what stopped can have an outcome.
    CHECK (outcome IS NULL OR state = 'stopped')
);

CREATE TRIGGER attestations_append_only BEFORE UPDATE ON tenure.attestations
FOR EACH STATEMENT EXECUTE FUNCTION tenure.refuse_change();

-- What was stated so far about one generation of a lease.
CREATE FUNCTION tenure.attested(
    p_attempt uuid, p_lease_generation integer, p_worker text,
    OUT last_sequence integer, OUT stopped boolean, OUT stopped_by_worker boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(max(x.sequence), 0), coalesce(bool_or(x.state = 'stopped'), false),
           coalesce(bool_or(x.state = 'stopped' AND x.actor = 'worker:' || p_worker), false)
    FROM tenure.attestations x
    WHERE x.attempt = p_attempt AND x.lease_generation = p_lease_generation
$$;

-- Moves a live lease to the session that found its process still running: same generation, renewed. It counts against
-- that session's limit from now on; existing work wins over the limit. A passed deadline becomes a stop, as in any
-- renewal. The caller holds session, run, attempt and lease.
CREATE FUNCTION tenure.adopt_lease(p_attempt uuid, p_session uuid, p_lease interval, p_now timestamptz) RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE tenure.run_leases l
    SET session = p_session, version = l.version + 1, renewed_at = greatest(l.renewed_at, p_now),
        expires_at = greatest(l.expires_at, p_now + p_lease),
        stop_reason = CASE WHEN l.stop_reason IS NULL AND l.deadline_at <= p_now
                           THEN 'timeout' ELSE l.stop_reason END,
        stop_requested_at = CASE WHEN l.stop_reason IS NULL AND l.deadline_at <= p_now
                                 THEN p_now ELSE l.stop_requested_at END
    WHERE l.attempt = p_attempt AND l.state = 'leased'
$$;

-- The latest statement on the lease row, and one event. A `stopped` on the lease row stays: from then on nothing
-- renews or acknowledges under this generation, whatever is stated later. A later `running` still raises the sequence,
-- so that a decision which did not know of it cannot commit. The caller holds run and lease.
CREATE FUNCTION tenure.note_attestation(
    p_attempt uuid, p_state text, p_sequence integer, p_actor text, p_now timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    a tenure.run_attempts;
    generation integer;
    event_sequence integer;
BEGIN
    UPDATE tenure.run_leases l
    SET attested_state = CASE WHEN l.attested_state = 'stopped' THEN 'stopped' ELSE p_state END,
        attested_sequence = p_sequence, attested_at = p_now
    WHERE l.attempt = p_attempt
    RETURNING l.generation INTO STRICT generation;
    SELECT * INTO STRICT a FROM tenure.run_attempts x WHERE x.attempt = p_attempt;
    UPDATE tenure.runs r SET version = r.version + 1, event_sequence = r.event_sequence + 1
    WHERE r.run = a.run RETURNING r.event_sequence INTO STRICT event_sequence;
    INSERT INTO tenure.run_events VALUES
        (a.run, event_sequence, 'attempt.attested', a.status, a.status, p_actor, p_now,
         'attested:' || p_attempt || ':' || generation || ':' || p_sequence,
         jsonb_build_object('attempt', p_attempt, 'lease_generation', generation, 'state', p_state,
                            'sequence', p_sequence));
END
$$;

-- One worker's statement, proven by the lease token alone: any session of that worker may make it. Recognised by
-- (attempt, generation, sequence); a sequence that is not the next one is a conflict that tells the last one.
-- `running` from a live session adopts the attempt. After its own `stopped` a worker's `running` is a conflict; after
-- an operator's it is recorded and moves no lease: evidence that contradicts itself is for a person. An attempt that
-- ended still takes statements. lease_version: NULL unless the caller holds the lease after the call.
CREATE FUNCTION ingress_api.attest_v1(
    p_credential text, p_secret bytea, p_session uuid, p_attestation uuid, p_attempt uuid, p_offer uuid, p_token bytea,
    p_lease_generation integer, p_sequence integer, p_state text, p_observed_at timestamptz, p_scope text,
    p_executor_handle text, p_outcome text, p_content bytea, p_lease_s double precision,
    OUT refusal text, OUT last_sequence integer, OUT status text, OUT lease_version integer,
    OUT expires_at timestamptz, OUT deadline_at timestamptz, OUT stop_reason text, OUT stop_requested_at timestamptz,
    OUT disposition text, OUT server_time timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    w text := tenure.authenticate_worker(p_credential, p_secret, tenure.clock());
    s tenure.worker_sessions;
    a tenure.run_attempts;
    l tenure.run_leases;
    earlier tenure.attestations;
    told record;
    goes_on boolean;
BEGIN
    SELECT * INTO s FROM tenure.worker_sessions x WHERE x.session = p_session AND x.worker = w FOR NO KEY UPDATE;
    server_time := tenure.clock();
    IF s.session IS NULL THEN
        refusal := CASE WHEN w IS NULL THEN 'credential_refused' ELSE 'session_fenced' END;
        RETURN;
    END IF;
    PERFORM FROM tenure.runs r
        WHERE r.run = (SELECT x.run FROM tenure.run_attempts x WHERE x.attempt = p_attempt) FOR NO KEY UPDATE;
    SELECT * INTO a FROM tenure.run_attempts x WHERE x.attempt = p_attempt FOR NO KEY UPDATE;
    SELECT * INTO l FROM tenure.run_leases x WHERE x.attempt = p_attempt FOR NO KEY UPDATE;
    server_time := tenure.clock();

    SELECT * INTO earlier FROM tenure.attestations x
    WHERE x.attempt = p_attempt AND x.lease_generation = p_lease_generation AND x.sequence = p_sequence;
    SELECT * INTO told FROM tenure.attested(p_attempt, p_lease_generation, w);
    refusal := CASE
        WHEN a.attempt IS NULL THEN 'unknown_attempt'
        WHEN tenure.fence_refusal(l, w, p_offer, p_token, p_lease_generation, 1) IS NOT NULL THEN 'lease_fenced'
        WHEN a.barrier_at IS NULL AND l.state <> 'leased' THEN 'lease_fenced'
        WHEN a.barrier_at IS NULL THEN 'lease_not_started'
        WHEN earlier.content = p_content THEN NULL
        WHEN earlier.actor LIKE 'worker:%' THEN 'content_conflict'
        WHEN p_sequence <> told.last_sequence + 1 THEN 'attestation_conflict'
        WHEN p_state = 'running' AND told.stopped_by_worker THEN 'content_conflict'
    END;
    IF refusal IS NOT NULL THEN
        -- Only a proven holder learns how far the statements are.
        last_sequence := CASE WHEN refusal = 'attestation_conflict' THEN told.last_sequence END;
        RETURN;
    END IF;

    status := CASE WHEN earlier.attestation IS NULL THEN 'recorded' ELSE 'replayed' END;
    IF status = 'recorded' THEN
        INSERT INTO tenure.attestations VALUES (
            p_attestation, p_attempt, p_lease_generation, p_sequence, p_state, 'worker:' || w, p_session, p_scope,
            p_executor_handle, least(p_observed_at, server_time), server_time, tenure.jsonb_or_null(p_outcome),
            p_content);
        PERFORM tenure.note_attestation(p_attempt, p_state, p_sequence, 'worker:' || w, server_time);
    END IF;
    goes_on := p_state = 'running' AND NOT told.stopped AND p_sequence >= told.last_sequence
               AND a.ended_at IS NULL AND l.state = 'leased' AND s.status IN ('online', 'draining');
    -- A replay moves nothing that is here already; the same statement from the worker's next session moves it there.
    IF goes_on AND (status = 'recorded' OR l.session <> p_session) THEN
        PERFORM tenure.adopt_lease(p_attempt, p_session, make_interval(secs => p_lease_s), server_time);
    END IF;

    IF goes_on THEN
        SELECT x.version, x.expires_at, x.stop_reason, x.stop_requested_at
        INTO lease_version, expires_at, stop_reason, stop_requested_at
        FROM tenure.run_leases x WHERE x.attempt = p_attempt;
    END IF;
    last_sequence := greatest(p_sequence, told.last_sequence);
    deadline_at := a.deadline_at;
    disposition := CASE WHEN p_state = 'stopped' THEN 'settled' WHEN NOT goes_on THEN 'stop' END;
END
$$;

GRANT EXECUTE ON FUNCTION ingress_api.attest_v1(
    text, bytea, uuid, uuid, uuid, uuid, bytea, integer, integer, text, timestamptz, text, text, text, bytea,
    double precision) TO tenure_ingress;
