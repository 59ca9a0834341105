-- The outcome of started work. Proven by the lease token alone: any session of the same worker may report it, current
-- or replaced, expired or not. While nothing superseded the attempt it settles it. It is never refused for its payload.

-- The terminal status that a report gives its attempt. A cancel intent wins over an exit code; a success is never
-- turned into a timeout; a failure is one when the worker stopped the work because of the deadline.
CREATE FUNCTION tenure.reported_status(
    p_outcome text, p_cancelled boolean, p_stop_reason text, p_stop_answer text, p_error_code text,
    p_deadline_at timestamptz, p_now timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE
        WHEN p_cancelled THEN 'cancelled'
        WHEN p_outcome = 'succeeded' THEN 'succeeded'
        WHEN p_stop_reason = 'timeout' AND p_stop_answer = 'stopped' THEN 'timed_out'
        WHEN p_error_code = 'deadline_exceeded' AND p_deadline_at <= p_now THEN 'timed_out'
        ELSE 'failed' END
$$;

-- What a completion answers, first or repeated: the run status is the one that the first answer told.
CREATE FUNCTION tenure.stored_outcome(
    p_attempt uuid, OUT late boolean, OUT output_flag text, OUT attempt_status text, OUT run_status text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(a.outcome_late, false), a.output_flag, a.status, coalesce(a.outcome_run, r.status)
    FROM tenure.run_attempts a JOIN tenure.runs r ON r.run = a.run
    WHERE a.attempt = p_attempt
$$;

-- Did this worker hold that generation of the lease? The lease row forgets it when the attempt is claimed again.
CREATE FUNCTION tenure.was_offered(
    p_attempt uuid, p_worker text, p_offer uuid, p_token bytea, p_lease_generation integer) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT FROM tenure.spent_offers o
        WHERE o.offer = p_offer AND o.attempt = p_attempt AND o.worker = p_worker AND o.token_digest = p_token
          AND o.lease_generation = p_lease_generation)
$$;

CREATE FUNCTION ingress_api.complete_v1(
    p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[],
    p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[],
    p_outcomes text[], p_exit_codes bigint[], p_started_at timestamptz[], p_finished_at timestamptz[],
    p_outputs text[], p_output_flags text[], p_error_codes text[], p_error_messages text[], p_logs text[],
    p_stop_answers text[])
RETURNS TABLE (
    ord integer, locked boolean, refusal text, status text, late boolean, output_flag text, attempt_status text,
    run_status text, server_time timestamptz)
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
    stored jsonb;
BEGIN
    server_time := tenure.clock();
    FOR i IN 1 .. cardinality(p_attempts) LOOP
        SELECT * INTO judged FROM tenure.judge_acknowledgement(
            workers[i], p_sessions[i], p_generations[i], p_attempts[i], p_offers[i], p_tokens[i],
            p_lease_generations[i], p_lease_versions[i], ours, false);
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
            ELSIF a.outcome_content IS NOT NULL THEN
                refusal := 'content_conflict';
            ELSIF a.status = 'claimed' THEN
                refusal := CASE WHEN l.state = 'leased' THEN 'lease_not_started' ELSE 'lease_fenced' END;
            ELSIF a.ended_at IS NOT NULL THEN
                status := 'settled';
            ELSIF l.state <> 'leased' THEN
                refusal := 'lease_fenced';
            ELSE
                status := 'applied';
                stored := tenure.jsonb_or_null(p_outputs[i]);
                PERFORM tenure.end_attempt(
                    p_attempts[i],
                    tenure.reported_status(p_outcomes[i], r.cancel_requested_at IS NOT NULL, l.stop_reason,
                                           p_stop_answers[i], p_error_codes[i], a.deadline_at, server_time),
                    p_exit_codes[i], p_started_at[i], p_finished_at[i], stored,
                    CASE WHEN p_outputs[i] IS NOT NULL AND stored IS NULL THEN 'invalid' ELSE p_output_flags[i] END,
                    p_error_codes[i], p_error_messages[i], tenure.jsonb_or_null(p_logs[i]), p_stop_answers[i],
                    p_contents[i], l.expires_at <= server_time, workers[i], server_time);
            END IF;
        END IF;
        -- What was superseded changes nothing, but it was told by one who held the work: somebody executed it.
        IF status = 'settled' OR refusal = 'content_conflict'
           OR (refusal = 'lease_fenced' AND tenure.was_offered(
                   p_attempts[i], workers[i], p_offers[i], p_tokens[i], p_lease_generations[i])) THEN
            PERFORM tenure.record_late_callback(
                p_attempts[i], 'complete', p_contents[i], workers[i],
                jsonb_build_object('lease_generation', p_lease_generations[i], 'outcome', p_outcomes[i],
                                   'exit_code', p_exit_codes[i]), server_time);
        END IF;
        SELECT k.* INTO late, output_flag, attempt_status, run_status
        FROM tenure.stored_outcome(p_attempts[i]) k WHERE status IS NOT NULL;
        RETURN NEXT;
    END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION ingress_api.complete_v1(
    text[], bytea[], uuid[], integer[], uuid[], uuid[], bytea[], integer[], integer[], bytea[], text[], bigint[],
    timestamptz[], timestamptz[], text[], text[], text[], text[], text[], text[]) TO tenure_ingress;
