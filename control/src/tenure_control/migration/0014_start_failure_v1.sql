-- Proven not spawned: the barrier was crossed, nothing ran. The attempt fails with the reported code, and the pinned
-- policy decides whether it is tried again. A cancel intent wins.
CREATE FUNCTION ingress_api.start_failure_v1(
    p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[],
    p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[],
    p_error_codes text[], p_error_messages text[])
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
            IF a.outcome_content = p_contents[i] THEN
                status := 'replayed';
            ELSE
                refusal := CASE
                    WHEN a.status = 'claimed' AND l.state <> 'leased' THEN 'lease_fenced'
                    WHEN a.status = 'claimed' THEN 'lease_not_started'
                    WHEN a.outcome_content IS NOT NULL THEN 'content_conflict'
                    WHEN a.status NOT IN ('starting', 'running') OR l.attested_state = 'stopped' THEN 'attempt_settled'
                    WHEN a.status = 'running' THEN 'already_started'
                    WHEN l.state <> 'leased' THEN 'lease_fenced' END;
                IF refusal IS NULL THEN
                    status := 'applied';
                    PERFORM tenure.end_attempt(
                        p_attempts[i], CASE WHEN r.cancel_requested_at IS NULL THEN 'failed' ELSE 'cancelled' END,
                        NULL, server_time, server_time, NULL, NULL, p_error_codes[i], p_error_messages[i], NULL, NULL,
                        p_contents[i], l.expires_at <= server_time, workers[i], server_time);
                ELSIF refusal IN ('attempt_settled', 'content_conflict') THEN
                    PERFORM tenure.record_late_callback(
                        p_attempts[i], 'start-failure', p_contents[i], workers[i],
                        jsonb_build_object('code', p_error_codes[i]), server_time);
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

GRANT EXECUTE ON FUNCTION ingress_api.start_failure_v1(
    text[], bytea[], uuid[], integer[], uuid[], uuid[], bytea[], integer[], integer[], bytea[], text[], text[])
    TO tenure_ingress;
