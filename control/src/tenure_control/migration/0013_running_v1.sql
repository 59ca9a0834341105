-- The process runs: starting -> running, and the run with it. Accepted on an expired lease while its fence is intact:
-- the truth is worth more than the deadline. Replayed by its content (handle and start time).

CREATE FUNCTION tenure.mark_running(
    p_attempt uuid, p_handle text, p_started_at timestamptz, p_content bytea, p_worker text, p_now timestamptz)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    a tenure.run_attempts;
    r tenure.runs;
    generation integer;
BEGIN
    UPDATE tenure.run_attempts x
    SET status = 'running', executor_handle = p_handle, running_content = p_content,
        started_at = greatest(x.barrier_at, least(p_started_at, p_now))
    WHERE x.attempt = p_attempt
    RETURNING x.* INTO STRICT a;
    UPDATE tenure.runs x
    SET status = 'running', started_at = coalesce(x.started_at, a.started_at),
        version = x.version + 2, event_sequence = x.event_sequence + 2
    WHERE x.run = a.run
    RETURNING x.* INTO STRICT r;
    SELECT l.generation INTO STRICT generation FROM tenure.run_leases l WHERE l.attempt = p_attempt;
    INSERT INTO tenure.run_events VALUES
        (r.run, r.event_sequence - 1, 'attempt.running', 'starting', 'running', 'worker:' || p_worker, p_now,
         'running:' || p_attempt, jsonb_build_object('attempt', p_attempt, 'lease_generation', generation)),
        (r.run, r.event_sequence, 'run.running', 'dispatching', 'running', 'worker:' || p_worker, p_now,
         'run-running:' || p_attempt, jsonb_build_object('attempt', p_attempt));
END
$$;

CREATE FUNCTION ingress_api.running_v1(
    p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[],
    p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[],
    p_handles text[], p_started_at timestamptz[])
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
            IF a.running_content = p_contents[i] THEN
                status := 'replayed';
            ELSE
                refusal := CASE
                    WHEN a.status = 'claimed' AND l.state <> 'leased' THEN 'lease_fenced'
                    WHEN a.status = 'claimed' THEN 'lease_not_started'
                    WHEN a.status NOT IN ('starting', 'running') OR l.attested_state = 'stopped' THEN 'attempt_settled'
                    WHEN a.status = 'running' AND a.executor_handle <> p_handles[i] THEN 'handle_conflict'
                    WHEN a.status = 'running' THEN 'content_conflict'
                    WHEN l.state <> 'leased' THEN 'lease_fenced' END;
                IF refusal IS NULL THEN
                    status := 'applied';
                    PERFORM tenure.mark_running(
                        p_attempts[i], p_handles[i], p_started_at[i], p_contents[i], workers[i], server_time);
                ELSIF refusal = 'attempt_settled' THEN
                    PERFORM tenure.record_late_callback(
                        p_attempts[i], 'running', p_contents[i], workers[i],
                        jsonb_build_object('started_at', p_started_at[i]), server_time);
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

GRANT EXECUTE ON FUNCTION ingress_api.running_v1(
    text[], bytea[], uuid[], integer[], uuid[], uuid[], bytea[], integer[], integer[], bytea[], text[], timestamptz[])
    TO tenure_ingress;
