-- The start barrier. Arrays hold one element per item; one row comes back per item, and no item affects another.

-- What every acknowledgement answers about an attempt, its run and its lease, as stored now. The run of an attempt whose
-- end was reported is told as that end left it: a repeated start failure answers the same after the next try began.
CREATE FUNCTION tenure.acknowledgement(
    p_attempt uuid, OUT attempt_status text, OUT run_status text, OUT lease_version integer,
    OUT expires_at timestamptz, OUT deadline_at timestamptz, OUT stop_reason text, OUT stop_requested_at timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.status, coalesce(a.outcome_run, r.status), l.version, l.expires_at, a.deadline_at, l.stop_reason, l.stop_requested_at
    FROM tenure.run_attempts a
    JOIN tenure.runs r ON r.run = a.run
    JOIN tenure.run_leases l ON l.attempt = a.attempt
    WHERE a.attempt = p_attempt
$$;

-- Judges one item of an acknowledgement before its state is looked at: session, then existence, then the lock, then
-- the fence. locked: the rows are held elsewhere; ask again.
CREATE FUNCTION tenure.judge_acknowledgement(
    p_worker text, p_session uuid, p_generation integer, p_attempt uuid, p_offer uuid, p_token bytea,
    p_lease_generation integer, p_lease_version integer, p_ours uuid[], p_live boolean,
    OUT refusal text, OUT locked boolean, OUT lease tenure.run_leases)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    locked := false;
    IF p_worker IS NULL THEN
        refusal := 'credential_refused';
        RETURN;
    END IF;
    refusal := tenure.session_refusal(p_session, p_generation, p_worker, p_live);
    IF refusal IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT l.* INTO lease FROM tenure.run_leases l WHERE l.attempt = p_attempt;
    IF lease.attempt IS NULL THEN
        refusal := CASE WHEN EXISTS (SELECT FROM tenure.run_attempts a WHERE a.attempt = p_attempt)
                        THEN 'lease_fenced' ELSE 'unknown_attempt' END;
        RETURN;
    END IF;
    IF p_attempt <> ALL (p_ours) THEN
        locked := true;
        RETURN;
    END IF;
    refusal := tenure.fence_refusal(lease, p_worker, p_offer, p_token, p_lease_generation, p_lease_version);
    IF refusal IS NULL AND p_live AND lease.session <> p_session THEN
        refusal := 'lease_fenced';
    END IF;
END
$$;

-- claimed -> starting, with its event; the deadline stands on the attempt and, for renewal to see, on the lease.
CREATE FUNCTION tenure.cross_barrier(p_attempt uuid, p_worker text, p_now timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r tenure.runs;
    generation integer;
    deadline timestamptz;
BEGIN
    UPDATE tenure.runs x
    SET unstarted_claims = 0, version = x.version + 1, event_sequence = x.event_sequence + 1
    WHERE x.run = (SELECT a.run FROM tenure.run_attempts a WHERE a.attempt = p_attempt)
    RETURNING x.* INTO STRICT r;
    deadline := p_now + r.timeout_us * interval '1 microsecond';
    UPDATE tenure.run_attempts a
    SET status = 'starting', barrier_at = p_now, deadline_at = deadline
    WHERE a.attempt = p_attempt;
    UPDATE tenure.run_leases l
    SET deadline_at = deadline
    WHERE l.attempt = p_attempt
    RETURNING l.generation INTO STRICT generation;
    INSERT INTO tenure.run_events VALUES
        (r.run, r.event_sequence, 'attempt.starting', 'claimed', 'starting', 'worker:' || p_worker, p_now,
         'starting:' || p_attempt,
         jsonb_strip_nulls(jsonb_build_object('attempt', p_attempt, 'lease_generation', generation,
                                              'deadline_at', deadline)));
END
$$;

-- The worker of each item, NULL where its credential is refused.
CREATE FUNCTION tenure.authenticate_items(p_credentials text[], p_secrets bytea[]) RETURNS text[]
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT array_agg(tenure.authenticate_worker(p_credentials[i], p_secrets[i], tenure.clock()) ORDER BY i)
    FROM generate_subscripts(p_credentials, 1) i
$$;

-- Attempts of the items that may be locked at all: nobody without a valid credential can make us take a lock.
CREATE FUNCTION tenure.lock_items(p_attempts uuid[], p_workers text[]) RETURNS uuid[]
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT tenure.lock_attempts(ARRAY(
        SELECT i.attempt FROM unnest(p_attempts, p_workers) AS i (attempt, worker) WHERE i.worker IS NOT NULL))
$$;

-- Crosses the barrier: claimed -> starting. From here on outside effects are possible, so the launch re-reads every
-- reason not to start under the locks. The deadline is pinned by database time.
CREATE FUNCTION ingress_api.starting_v1(
    p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[],
    p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[])
RETURNS TABLE (
    ord integer, locked boolean, refusal text, status text, attempt_status text, run_status text,
    lease_version integer, expires_at timestamptz, deadline_at timestamptz, stop_reason text,
    stop_requested_at timestamptz, server_time timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    workers text[] := tenure.authenticate_items(p_credentials, p_secrets);
    ours uuid[] := tenure.lock_items(p_attempts, workers);
    judged record;
    l tenure.run_leases;
    a tenure.run_attempts;
    r tenure.runs;
BEGIN
    server_time := tenure.clock();
    FOR i IN 1 .. cardinality(p_attempts) LOOP
        SELECT * INTO judged FROM tenure.judge_acknowledgement(
            workers[i], p_sessions[i], p_generations[i], p_attempts[i], p_offers[i], p_tokens[i],
            p_lease_generations[i], p_lease_versions[i], ours, true);
        ord := i;
        locked := judged.locked;
        refusal := judged.refusal;
        status := NULL;
        IF refusal IS NULL AND NOT locked THEN
            l := judged.lease;
            SELECT * INTO STRICT a FROM tenure.run_attempts x WHERE x.attempt = p_attempts[i];
            SELECT * INTO STRICT r FROM tenure.runs x WHERE x.run = a.run;
            -- A start has no content beside its key, so whatever comes after the first one is its replay.
            IF a.status IN ('starting', 'running') THEN
                status := 'replayed';
            ELSE
                refusal := CASE
                    WHEN a.status <> 'claimed' OR l.attested_state = 'stopped' THEN 'attempt_settled'
                    WHEN l.state <> 'leased' THEN 'lease_fenced'
                    WHEN l.stop_reason IS NOT NULL OR r.cancel_requested_at IS NOT NULL THEN 'stop_requested'
                    WHEN l.expires_at <= server_time THEN 'lease_expired' END;
                IF refusal IS NULL THEN
                    status := 'applied';
                    PERFORM tenure.cross_barrier(p_attempts[i], workers[i], server_time);
                ELSIF refusal = 'attempt_settled' AND a.barrier_at IS NULL THEN
                    -- What did start before it ended is told nothing new by its own start, come once more.
                    PERFORM tenure.record_late_callback(
                        p_attempts[i], 'starting', p_contents[i], workers[i], '{}', server_time);
                END IF;
            END IF;
        END IF;
        SELECT k.* INTO attempt_status, run_status, lease_version, expires_at, deadline_at, stop_reason,
                        stop_requested_at
        FROM tenure.acknowledgement(p_attempts[i]) k WHERE status IS NOT NULL;
        RETURN NEXT;
    END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION ingress_api.starting_v1(
    text[], bytea[], uuid[], integer[], uuid[], uuid[], bytea[], integer[], integer[], bytea[]) TO tenure_ingress;
