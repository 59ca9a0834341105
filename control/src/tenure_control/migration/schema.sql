-- The schema that the migrations make, for reading. `make schema` writes this file; a test compares it.

--
-- PostgreSQL database dump
--

--
-- Name: ingress_api; Type: SCHEMA; Schema: -; Owner: tenure_owner
--

CREATE SCHEMA ingress_api;

ALTER SCHEMA ingress_api OWNER TO tenure_owner;

--
-- Name: tenure; Type: SCHEMA; Schema: -; Owner: tenure_owner
--

CREATE SCHEMA tenure;

ALTER SCHEMA tenure OWNER TO tenure_owner;

--
-- Name: attest_v1(text, bytea, uuid, uuid, uuid, uuid, bytea, integer, integer, text, timestamp with time zone, text, text, text, bytea, double precision); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.attest_v1(p_credential text, p_secret bytea, p_session uuid, p_attestation uuid, p_attempt uuid, p_offer uuid, p_token bytea, p_lease_generation integer, p_sequence integer, p_state text, p_observed_at timestamp with time zone, p_scope text, p_executor_handle text, p_outcome text, p_content bytea, p_lease_s double precision, OUT refusal text, OUT last_sequence integer, OUT status text, OUT lease_version integer, OUT expires_at timestamp with time zone, OUT deadline_at timestamp with time zone, OUT stop_reason text, OUT stop_requested_at timestamp with time zone, OUT disposition text, OUT server_time timestamp with time zone) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

ALTER FUNCTION ingress_api.attest_v1(p_credential text, p_secret bytea, p_session uuid, p_attestation uuid, p_attempt uuid, p_offer uuid, p_token bytea, p_lease_generation integer, p_sequence integer, p_state text, p_observed_at timestamp with time zone, p_scope text, p_executor_handle text, p_outcome text, p_content bytea, p_lease_s double precision, OUT refusal text, OUT last_sequence integer, OUT status text, OUT lease_version integer, OUT expires_at timestamp with time zone, OUT deadline_at timestamp with time zone, OUT stop_reason text, OUT stop_requested_at timestamp with time zone, OUT disposition text, OUT server_time timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: authenticate_v1(text, bytea); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.authenticate_v1(p_credential text, p_secret bytea, OUT refusal text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF tenure.authenticate_worker(p_credential, p_secret, tenure.clock()) IS NULL THEN
        refusal := 'credential_refused';
    END IF;
END
$$;

ALTER FUNCTION ingress_api.authenticate_v1(p_credential text, p_secret bytea, OUT refusal text) OWNER TO tenure_owner;

--
-- Name: claim_offers_v1(text, bytea, uuid, integer, uuid[], bytea[], double precision); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.claim_offers_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_offers uuid[], p_tokens bytea[], p_lease_s double precision) RETURNS TABLE(ord integer, refusal text, none_reason text, classes integer[], classes_seen integer, drain_requested boolean, server_time timestamp with time zone, offer uuid, outcome text, spawn boolean, attempt uuid, run uuid, project text, task text, revision integer, digest bytea, number integer, try integer, step text, priority integer, attempt_status text, deadline_at timestamp with time zone, lease_generation integer, lease_version integer, acquired_at timestamp with time zone, expires_at timestamp with time zone, plan text, input text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    w text;
    s tenure.worker_sessions;
    fresh integer[];
    room integer;
    asked integer;
    claimed integer := 0;
BEGIN
    ord := 0;
    w := tenure.authenticate_worker(p_credential, p_secret, tenure.clock());
    IF w IS NULL THEN
        refusal := 'credential_refused';
        server_time := tenure.clock();
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT * INTO s FROM tenure.worker_sessions x
    WHERE x.session = p_session AND x.worker = w FOR NO KEY UPDATE;
    server_time := tenure.clock();
    IF s.session IS NULL OR s.generation IS DISTINCT FROM p_generation
       OR s.status NOT IN ('online', 'draining') THEN
        refusal := 'session_fenced';
        RETURN NEXT;
        RETURN;
    END IF;
    UPDATE tenure.worker_sessions x
    SET seen_at = greatest(x.seen_at, server_time), expires_at = greatest(x.expires_at, server_time + x.session_lease)
    WHERE x.session = p_session;

    -- unnest, because the planner takes generate_subscripts for a thousand rows and would rather read the whole table.
    fresh := ARRAY(
        SELECT i.position FROM unnest(p_offers) WITH ORDINALITY AS i (offer, position)
        WHERE NOT EXISTS (SELECT FROM tenure.spent_offers o WHERE o.offer = i.offer)
        ORDER BY i.position);
    SELECT s.lease_limit - count(*) INTO room
    FROM tenure.run_leases l WHERE l.session = p_session AND l.state = 'leased';

    asked := cardinality(fresh);
    drain_requested := s.drain_requested_at IS NOT NULL;
    SELECT k.classes, k.classes_seen INTO classes, classes_seen FROM tenure.refresh_classes(p_session) k;
    -- What an operator asked for holds at once, whether or not the worker has heard of it.
    IF s.status = 'online' AND NOT drain_requested AND least(asked, room) > 0 THEN
        fresh := fresh[1:room];
        claimed := tenure.claim_attempts(
            p_session, w, classes,
            ARRAY(SELECT p_offers[f.i] FROM unnest(fresh) AS f (i) ORDER BY f.i),
            ARRAY(SELECT p_tokens[f.i] FROM unnest(fresh) AS f (i) ORDER BY f.i),
            make_interval(secs => p_lease_s));
    END IF;
    IF claimed < asked THEN
        none_reason := CASE
            WHEN s.status = 'draining' OR drain_requested THEN 'draining'
            WHEN claimed >= room THEN 'at_limit'
            WHEN tenure.work_for_others(classes) THEN 'no_match'
            ELSE 'no_work' END;
    END IF;
    server_time := tenure.clock();
    RETURN NEXT;

    RETURN QUERY
    WITH answered AS (
        SELECT i.position::integer AS position, o.offer, o.attempt, l.session = p_session AS mine,
               o.worker = w AND o.token_digest = i.token AND l.offer = o.offer AND l.state = 'leased' AS held,
               a.status
        FROM unnest(p_offers, p_tokens) WITH ORDINALITY AS i (offer, token, position)
        JOIN tenure.spent_offers o ON o.offer = i.offer
        JOIN tenure.run_leases l ON l.attempt = o.attempt
        JOIN tenure.run_attempts a ON a.attempt = o.attempt
    ), judged AS (
        SELECT x.position, x.offer, x.attempt, CASE
            WHEN x.held AND x.status = 'claimed' AND x.mine THEN 'offered'
            WHEN x.held AND x.status IN ('starting', 'running') THEN 'recovered'
            ELSE 'settled' END AS outcome
        FROM answered x
    )
    SELECT j.position, NULL::text, NULL::text, NULL::integer[], NULL::integer, NULL::boolean, server_time,
           j.offer, j.outcome, j.outcome = 'offered', a.attempt, r.run, r.project, r.task, r.task_revision,
           r.task_digest, a.number, a.try, a.step, a.priority::integer, a.status, a.deadline_at,
           l.generation, l.version, l.acquired_at, l.expires_at, r.plan, r.input::text
    FROM judged j
    LEFT JOIN tenure.run_attempts a ON a.attempt = j.attempt AND j.outcome <> 'settled'
    LEFT JOIN tenure.runs r ON r.run = a.run
    LEFT JOIN tenure.run_leases l ON l.attempt = a.attempt
    ORDER BY j.position;
END
$$;

ALTER FUNCTION ingress_api.claim_offers_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_offers uuid[], p_tokens bytea[], p_lease_s double precision) OWNER TO tenure_owner;

--
-- Name: complete_v1(text[], bytea[], uuid[], integer[], uuid[], uuid[], bytea[], integer[], integer[], bytea[], text[], bigint[], timestamp with time zone[], timestamp with time zone[], text[], text[], text[], text[], text[], text[]); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.complete_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_outcomes text[], p_exit_codes bigint[], p_started_at timestamp with time zone[], p_finished_at timestamp with time zone[], p_outputs text[], p_output_flags text[], p_error_codes text[], p_error_messages text[], p_logs text[], p_stop_answers text[]) RETURNS TABLE(ord integer, locked boolean, refusal text, status text, late boolean, output_flag text, attempt_status text, run_status text, server_time timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

ALTER FUNCTION ingress_api.complete_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_outcomes text[], p_exit_codes bigint[], p_started_at timestamp with time zone[], p_finished_at timestamp with time zone[], p_outputs text[], p_output_flags text[], p_error_codes text[], p_error_messages text[], p_logs text[], p_stop_answers text[]) OWNER TO tenure_owner;

--
-- Name: decline_v1(text, bytea, uuid, integer, uuid[], uuid[], bytea[], integer[], integer[], text); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.decline_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_reason text) RETURNS TABLE(ord integer, refusal text, attempt uuid, status text, server_time timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    w text;
    s tenure.worker_sessions;
    l tenure.run_leases;
    unstarted boolean;
BEGIN
    ord := 0;
    w := tenure.authenticate_worker(p_credential, p_secret, tenure.clock());
    IF w IS NULL THEN
        refusal := 'credential_refused';
        server_time := tenure.clock();
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT * INTO s FROM tenure.worker_sessions x
    WHERE x.session = p_session AND x.worker = w FOR NO KEY UPDATE;
    IF s.session IS NULL OR s.generation IS DISTINCT FROM p_generation
       OR s.status NOT IN ('online', 'draining') THEN
        refusal := 'session_fenced';
        server_time := tenure.clock();
        RETURN NEXT;
        RETURN;
    END IF;

    PERFORM FROM tenure.runs r
        WHERE r.run = ANY (ARRAY(SELECT a.run FROM tenure.run_attempts a
                                 JOIN tenure.run_leases x ON x.attempt = a.attempt
                                 WHERE a.attempt = ANY (p_attempts) AND x.session = p_session))
        ORDER BY r.run FOR NO KEY UPDATE;
    PERFORM FROM tenure.run_attempts a WHERE a.attempt = ANY (p_attempts) AND EXISTS (
            SELECT FROM tenure.run_leases x WHERE x.attempt = a.attempt AND x.session = p_session)
        ORDER BY a.attempt FOR NO KEY UPDATE;
    PERFORM FROM tenure.run_leases x WHERE x.attempt = ANY (p_attempts) AND x.session = p_session
        ORDER BY x.attempt FOR NO KEY UPDATE;
    server_time := tenure.clock();
    RETURN NEXT;

    FOR i IN 1 .. cardinality(p_attempts) LOOP
        ord := i;
        attempt := p_attempts[i];
        SELECT x.* INTO l FROM tenure.run_leases x WHERE x.attempt = p_attempts[i];
        SELECT a.status = 'claimed' INTO unstarted FROM tenure.run_attempts a WHERE a.attempt = p_attempts[i];
        status := 'fenced';
        IF l.session = p_session AND tenure.fence_refusal(
               l, w, p_offers[i], p_tokens[i], p_lease_generations[i], p_lease_versions[i]) IS NULL THEN
            IF l.state = 'leased' AND unstarted THEN
                PERFORM tenure.return_to_queue(attempt, p_reason, 'worker:' || w, server_time);
                IF p_reason = 'declined' THEN
                    INSERT INTO tenure.attempt_declines AS d (attempt, session, declined_at)
                    VALUES (p_attempts[i], p_session, server_time)
                    ON CONFLICT (attempt, session) DO UPDATE SET declined_at = excluded.declined_at;
                END IF;
                status := 'released';
            ELSIF l.state = 'released' AND l.release_reason IN ('declined', 'shutdown') THEN
                status := 'released';
            END IF;
        ELSIF tenure.was_given_back(attempt, w, p_offers[i], p_tokens[i], p_lease_generations[i]) THEN
            status := 'released';
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

ALTER FUNCTION ingress_api.decline_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_reason text) OWNER TO tenure_owner;

--
-- Name: dispatchable_v1(integer); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.dispatchable_v1(p_limit integer) RETURNS TABLE(class integer, attempts integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    behind integer := 0;
BEGIN
    LOOP
        SELECT a.class INTO behind FROM tenure.run_attempts a
        WHERE a.dispatchable AND a.class > behind
        ORDER BY a.class LIMIT 1;
        EXIT WHEN behind IS NULL;
        class := behind;
        SELECT count(*) INTO attempts FROM (
            SELECT FROM tenure.run_attempts a WHERE a.dispatchable AND a.class = behind LIMIT p_limit) counted;
        RETURN NEXT;
    END LOOP;
END
$$;

ALTER FUNCTION ingress_api.dispatchable_v1(p_limit integer) OWNER TO tenure_owner;

--
-- Name: drain_v1(text, bytea, uuid, integer); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.drain_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ SELECT * FROM tenure.touch_session(p_credential, p_secret, p_session, p_generation, 'draining') $$;

ALTER FUNCTION ingress_api.drain_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: heartbeat_v1(text[], bytea[], uuid[], integer[]); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.heartbeat_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[]) RETURNS TABLE(ord integer, locked boolean, refusal text, generation integer, version integer, status text, expires_at timestamp with time zone, drain_requested boolean, server_time timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    workers text[] := tenure.authenticate_items(p_credentials, p_secrets);
    ours uuid[];
BEGIN
    ours := ARRAY(
        SELECT s.session FROM tenure.worker_sessions s
        WHERE s.session = ANY (ARRAY(
            SELECT x.session FROM unnest(p_sessions, workers) AS i (session, worker)
            JOIN tenure.worker_sessions x ON x.session = i.session AND x.worker = i.worker))
        ORDER BY s.session FOR NO KEY UPDATE SKIP LOCKED);
    -- After the locks and in a later statement: a session that was replaced meanwhile must be seen as replaced.
    server_time := tenure.clock();

    RETURN QUERY
    WITH judged AS MATERIALIZED (
        SELECT i.position::integer AS position, s.session, s.generation, s.version, s.status, s.expires_at,
               s.drain_requested_at IS NOT NULL AS drain_requested,
               CASE WHEN i.worker IS NULL THEN 'credential_refused'
                    WHEN s.session IS NULL THEN 'session_fenced' END AS refusal,
               s.session IS NOT NULL AND s.session <> ALL (ours) AS locked
        FROM unnest(p_sessions, workers, p_generations) WITH ORDINALITY AS i (session, worker, generation, position)
        LEFT JOIN tenure.worker_sessions s
               ON s.session = i.session AND s.worker = i.worker AND s.generation = i.generation
              AND s.status IN ('online', 'draining')
    ), extended AS (
        UPDATE tenure.worker_sessions s
        SET seen_at = greatest(s.seen_at, server_time),
            expires_at = greatest(s.expires_at, server_time + s.session_lease)
        FROM judged j
        WHERE s.session = j.session AND NOT j.locked
        RETURNING s.session, s.expires_at
    )
    SELECT j.position, j.locked, j.refusal, j.generation, j.version, j.status,
           coalesce(e.expires_at, j.expires_at), CASE WHEN j.refusal IS NULL THEN j.drain_requested END, server_time
    FROM judged j LEFT JOIN extended e ON e.session = j.session
    ORDER BY j.position;
END
$$;

ALTER FUNCTION ingress_api.heartbeat_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[]) OWNER TO tenure_owner;

--
-- Name: held_leases_v1(text, bytea, uuid, integer); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.held_leases_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer) RETURNS TABLE(ord integer, refusal text, attempt uuid, run uuid, offer uuid, lease_generation integer, lease_version integer, status text, expires_at timestamp with time zone, stop_reason text, stop_requested_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    w text := tenure.authenticate_worker(p_credential, p_secret, tenure.clock());
BEGIN
    ord := 0;
    refusal := CASE WHEN w IS NULL THEN 'credential_refused'
                    ELSE tenure.session_refusal(p_session, p_generation, w, true) END;
    RETURN NEXT;
    IF refusal IS NULL THEN
        RETURN QUERY
        SELECT row_number() OVER (ORDER BY l.acquired_at, l.attempt)::integer, NULL::text, l.attempt, a.run, l.offer,
               l.generation, l.version, a.status, l.expires_at, l.stop_reason, l.stop_requested_at
        FROM tenure.run_leases l JOIN tenure.run_attempts a ON a.attempt = l.attempt
        WHERE l.session = p_session AND l.state = 'leased';
    END IF;
END
$$;

ALTER FUNCTION ingress_api.held_leases_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer) OWNER TO tenure_owner;

--
-- Name: offline_v1(text, bytea, uuid, integer); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.offline_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ SELECT * FROM tenure.touch_session(p_credential, p_secret, p_session, p_generation, 'offline') $$;

ALTER FUNCTION ingress_api.offline_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: record_refusals_v1(uuid, jsonb); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.record_refusals_v1(p_process uuid, p_report jsonb, OUT recorded boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    now timestamptz := tenure.clock();
BEGIN
    recorded := (p_process IS NOT NULL AND jsonb_typeof(p_report) = 'object' AND octet_length(p_report::text) <= 4096)
                IS TRUE
        AND (SELECT count(*) FROM tenure.security_audit_events e
             WHERE e.action = 'authentication.refusals' AND e.at > now - interval '1 minute') < 120;
    IF recorded THEN
        INSERT INTO tenure.security_audit_events (at, actor, action, object, detail)
        VALUES (now, 'ingress', 'authentication.refusals', 'process:' || p_process, p_report);
    END IF;
END
$$;

ALTER FUNCTION ingress_api.record_refusals_v1(p_process uuid, p_report jsonb, OUT recorded boolean) OWNER TO tenure_owner;

--
-- Name: register_v1(text, bytea, uuid, jsonb, text[], text[], integer, double precision, boolean, text); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.register_v1(p_credential text, p_secret bytea, p_session uuid, p_labels jsonb, p_executors text[], p_handlers text[], p_limit integer, p_session_lease_s double precision, p_takeover boolean, p_agent text, OUT refusal text, OUT detail jsonb, OUT worker text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT replaced_session uuid, OUT replaced_generation integer, OUT server_time timestamp with time zone) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    lease interval := make_interval(secs => p_session_lease_s);
    w tenure.workers;
    mine tenure.worker_sessions;
    older tenure.worker_sessions;
    matching integer[];
    newest integer;
    started uuid[];
BEGIN
    server_time := tenure.clock();
    worker := tenure.authenticate_worker(p_credential, p_secret, server_time);
    IF worker IS NULL THEN
        refusal := 'credential_refused';
        RETURN;
    END IF;

    SELECT * INTO STRICT w FROM tenure.workers x WHERE x.worker = register_v1.worker FOR NO KEY UPDATE;
    SELECT * INTO mine FROM tenure.worker_sessions x
    WHERE x.session = p_session AND x.worker = w.worker FOR NO KEY UPDATE;
    SELECT * INTO older FROM tenure.worker_sessions x
    WHERE x.worker = w.worker AND x.status IN ('online', 'draining', 'offline') AND x.session <> p_session
    FOR NO KEY UPDATE;
    server_time := tenure.clock();

    -- The session of another worker is refused without a look at it, and without its lock.
    IF mine.session IS NULL AND EXISTS (SELECT FROM tenure.worker_sessions x WHERE x.session = p_session) THEN
        refusal := 'session_fenced';
        RETURN;
    END IF;
    IF mine.session IS NOT NULL THEN
        refusal := CASE
            WHEN mine.status IN ('offline', 'replaced') THEN 'session_fenced'
            WHEN (mine.labels, mine.executors, mine.handlers, mine.lease_limit, mine.session_lease)
                 IS DISTINCT FROM (p_labels, p_executors, p_handlers, p_limit, lease) THEN 'content_conflict'
        END;
        IF refusal IS NULL THEN
            generation := mine.generation;
            version := mine.version;
            status := mine.status;
            expires_at := mine.expires_at;
            SELECT x.session, x.generation INTO replaced_session, replaced_generation
            FROM tenure.worker_sessions x WHERE x.session = mine.replaced_session;
        END IF;
        RETURN;
    END IF;

    IF older.status = 'online' AND older.expires_at > server_time
       AND (NOT p_takeover OR w.last_takeover_at > server_time - interval '60 seconds') THEN
        refusal := 'session_conflict';
        detail := jsonb_build_object(
            'session_age_s', round(extract(epoch FROM server_time - older.registered_at)::numeric, 3),
            'seen_age_s', round(extract(epoch FROM server_time - older.seen_at)::numeric, 3),
            'retry_after_s', round(extract(epoch FROM CASE WHEN p_takeover
                THEN least(older.expires_at, w.last_takeover_at + interval '60 seconds')
                ELSE older.expires_at END - server_time)::numeric, 3));
        RETURN;
    END IF;

    IF older.session IS NOT NULL THEN
        UPDATE tenure.worker_sessions x
        SET status = 'replaced', version = x.version + 1, ended_at = coalesce(x.ended_at, server_time)
        WHERE x.session = older.session;
        PERFORM tenure.return_unstarted(older.session, 'superseded', 'worker:' || w.worker);
        -- Started leases: lock in key order, then bring the expiry forward in a statement of its own.
        started := ARRAY(
            SELECT l.attempt FROM tenure.run_leases l
            WHERE l.session = older.session AND l.state = 'leased'
            ORDER BY l.attempt FOR NO KEY UPDATE);
        server_time := tenure.clock();
        UPDATE tenure.run_leases l
        SET expires_at = least(l.expires_at, server_time), version = l.version + 1
        WHERE l.attempt = ANY (started) AND l.session = older.session AND l.state = 'leased';
        replaced_session := older.session;
        replaced_generation := older.generation;
    END IF;

    UPDATE tenure.workers x
    SET session_generation = x.session_generation + 1,
        last_takeover_at = CASE WHEN older.status = 'online' AND older.expires_at > server_time
                                THEN server_time ELSE x.last_takeover_at END
    WHERE x.worker = w.worker
    RETURNING x.session_generation INTO generation;

    SELECT coalesce(max(c.class), 0) INTO newest FROM tenure.placement_classes c;
    matching := ARRAY(
        SELECT c.class FROM tenure.placement_classes c
        WHERE c.class <= newest AND tenure.placement_matches(c.placement, p_labels, p_executors, p_handlers)
        ORDER BY c.class);
    version := 1;
    status := 'online';
    expires_at := server_time + lease;
    INSERT INTO tenure.worker_sessions (
        session, worker, generation, status, version, labels, executors, handlers, lease_limit, session_lease, agent,
        classes, classes_seen, replaced_session, registered_at, seen_at, expires_at)
    VALUES (
        p_session, w.worker, generation, status, version, p_labels, p_executors, p_handlers, p_limit, lease, p_agent,
        matching, newest, older.session, server_time, server_time, expires_at);
    INSERT INTO tenure.security_audit_events (at, actor, action, object, detail)
    VALUES (server_time, 'worker:' || w.worker, 'session.register', p_session::text, jsonb_strip_nulls(
        jsonb_build_object('credential', p_credential, 'generation', generation, 'replaced', older.session,
                           'takeover', p_takeover)));
END
$$;

ALTER FUNCTION ingress_api.register_v1(p_credential text, p_secret bytea, p_session uuid, p_labels jsonb, p_executors text[], p_handlers text[], p_limit integer, p_session_lease_s double precision, p_takeover boolean, p_agent text, OUT refusal text, OUT detail jsonb, OUT worker text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT replaced_session uuid, OUT replaced_generation integer, OUT server_time timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: renew_v1(text[], bytea[], uuid[], integer[], integer[], uuid[], uuid[], bytea[], integer[], integer[], double precision); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.renew_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_requests integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_lease_s double precision) RETURNS TABLE(ord integer, locked boolean, refusal text, status text, lease_version integer, expires_at timestamp with time zone, late boolean, stop_reason text, stop_requested_at timestamp with time zone, terminal text, disposition text, drain_requested boolean, server_time timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    workers text[] := tenure.authenticate_items(p_credentials, p_secrets);
    ours uuid[];
    refusals text[];
    drains boolean[];
BEGIN
    ours := ARRAY(
        SELECT l.attempt FROM tenure.run_leases l
        WHERE l.attempt = ANY (ARRAY(SELECT i.attempt FROM unnest(p_attempts, p_requests) AS i (attempt, request)
                                     WHERE workers[i.request] IS NOT NULL))
        ORDER BY l.attempt FOR NO KEY UPDATE SKIP LOCKED);
    -- After the locks and in a later statement: a session that was replaced meanwhile must be seen as replaced.
    server_time := tenure.clock();
    -- unnest, because the planner takes generate_subscripts for a thousand rows and would read every session there was.
    SELECT array_agg(CASE WHEN i.worker IS NULL THEN 'credential_refused'
                          WHEN s.session IS NULL THEN 'session_fenced' END ORDER BY i.position),
           array_agg(s.drain_requested_at IS NOT NULL ORDER BY i.position)
    INTO refusals, drains
    FROM unnest(p_sessions, workers, p_generations) WITH ORDINALITY AS i (session, worker, generation, position)
    LEFT JOIN tenure.worker_sessions s
           ON s.session = i.session AND s.worker = i.worker AND s.generation = i.generation
          AND s.status IN ('online', 'draining');

    RETURN QUERY
    WITH judged AS MATERIALIZED (
        SELECT i.position::integer AS position, i.request, l.attempt, l.version, l.expires_at,
            l.attempt IS NOT NULL AND o.attempt IS NULL AS locked,
            CASE WHEN l.stop_reason IS NULL AND l.deadline_at <= server_time
                 THEN 'timeout' ELSE l.stop_reason END AS stop_reason,
            CASE WHEN l.stop_reason IS NULL AND l.deadline_at <= server_time
                 THEN server_time ELSE l.stop_requested_at END AS stop_requested_at,
            CASE
                WHEN refusals[i.request] IS NOT NULL THEN NULL
                WHEN l.attempt IS NULL OR l.session IS DISTINCT FROM p_sessions[i.request]
                  OR tenure.fence_refusal(l, workers[i.request], i.offer, i.token, i.generation, i.version) IS NOT NULL
                    THEN 'fenced'
                WHEN l.state = 'completed' OR l.attested_state = 'stopped' THEN 'settled'
                WHEN l.state = 'leased' THEN 'renewed'
                -- Released under this generation: unstarted work went back to the queue and is nobody's; anything
                -- else was ended by a decision, and a process that still runs has to stop.
                ELSE (SELECT CASE WHEN a.status = 'claimed' THEN 'fenced'
                                  WHEN a.status = 'cancelled' THEN 'cancelled' ELSE 'ended' END
                      FROM tenure.run_attempts a WHERE a.attempt = l.attempt)
            END AS verdict
        FROM unnest(p_requests, p_attempts, p_offers, p_tokens, p_lease_generations, p_lease_versions)
             WITH ORDINALITY AS i (request, attempt, offer, token, generation, version, position)
        LEFT JOIN tenure.run_leases l ON l.attempt = i.attempt
        LEFT JOIN unnest(ours) AS o (attempt) ON o.attempt = i.attempt
    ), renewed AS (
        UPDATE tenure.run_leases l
        SET version = l.version + 1, renewed_at = greatest(l.renewed_at, server_time),
            expires_at = greatest(l.expires_at, server_time + make_interval(secs => p_lease_s)),
            stop_reason = j.stop_reason, stop_requested_at = j.stop_requested_at
        FROM judged j
        WHERE l.attempt = j.attempt AND j.verdict = 'renewed' AND NOT j.locked
        RETURNING l.attempt, l.version, l.expires_at
    )
    SELECT j.position,
           coalesce(j.locked AND j.verdict = 'renewed', false),
           refusals[j.request],
           CASE
               WHEN j.verdict = 'renewed' AND j.stop_reason IS NOT NULL THEN 'stop'
               WHEN j.verdict IN ('renewed', 'fenced') THEN j.verdict
               WHEN j.verdict IS NOT NULL THEN 'terminal' END,
           CASE WHEN j.verdict <> 'fenced' THEN coalesce(n.version, j.version) END,
           CASE WHEN j.verdict <> 'fenced' THEN coalesce(n.expires_at, j.expires_at) END,
           coalesce(j.verdict = 'renewed' AND j.expires_at <= server_time, false),
           CASE WHEN j.verdict = 'renewed' THEN j.stop_reason END,
           CASE WHEN j.verdict = 'renewed' THEN j.stop_requested_at END,
           CASE WHEN j.verdict = 'cancelled' THEN 'cancelled' END,
           CASE WHEN j.verdict IN ('fenced', 'cancelled', 'ended') THEN 'stop'
                WHEN j.verdict = 'settled' THEN 'settled' END,
           drains[j.request],
           server_time
    FROM judged j LEFT JOIN renewed n ON n.attempt = j.attempt
    ORDER BY j.position;
END
$$;

ALTER FUNCTION ingress_api.renew_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_requests integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_lease_s double precision) OWNER TO tenure_owner;

--
-- Name: running_v1(text[], bytea[], uuid[], integer[], uuid[], uuid[], bytea[], integer[], integer[], bytea[], text[], timestamp with time zone[]); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.running_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_handles text[], p_started_at timestamp with time zone[]) RETURNS TABLE(ord integer, locked boolean, refusal text, status text, attempt_status text, run_status text, lease_version integer, expires_at timestamp with time zone, deadline_at timestamp with time zone, stop_reason text, stop_requested_at timestamp with time zone, server_time timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

ALTER FUNCTION ingress_api.running_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_handles text[], p_started_at timestamp with time zone[]) OWNER TO tenure_owner;

--
-- Name: start_failure_v1(text[], bytea[], uuid[], integer[], uuid[], uuid[], bytea[], integer[], integer[], bytea[], text[], text[]); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.start_failure_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_error_codes text[], p_error_messages text[]) RETURNS TABLE(ord integer, locked boolean, refusal text, status text, attempt_status text, run_status text, lease_version integer, expires_at timestamp with time zone, deadline_at timestamp with time zone, stop_reason text, stop_requested_at timestamp with time zone, server_time timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

ALTER FUNCTION ingress_api.start_failure_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_error_codes text[], p_error_messages text[]) OWNER TO tenure_owner;

--
-- Name: starting_v1(text[], bytea[], uuid[], integer[], uuid[], uuid[], bytea[], integer[], integer[], bytea[]); Type: FUNCTION; Schema: ingress_api; Owner: tenure_owner
--

CREATE FUNCTION ingress_api.starting_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[]) RETURNS TABLE(ord integer, locked boolean, refusal text, status text, attempt_status text, run_status text, lease_version integer, expires_at timestamp with time zone, deadline_at timestamp with time zone, stop_reason text, stop_requested_at timestamp with time zone, server_time timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
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

ALTER FUNCTION ingress_api.starting_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[]) OWNER TO tenure_owner;

--
-- Name: acknowledgement(uuid); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.acknowledgement(p_attempt uuid, OUT attempt_status text, OUT run_status text, OUT lease_version integer, OUT expires_at timestamp with time zone, OUT deadline_at timestamp with time zone, OUT stop_reason text, OUT stop_requested_at timestamp with time zone) RETURNS record
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT a.status, coalesce(a.outcome_run, r.status), l.version, l.expires_at, a.deadline_at, l.stop_reason, l.stop_requested_at
    FROM tenure.run_attempts a
    JOIN tenure.runs r ON r.run = a.run
    JOIN tenure.run_leases l ON l.attempt = a.attempt
    WHERE a.attempt = p_attempt
$$;

ALTER FUNCTION tenure.acknowledgement(p_attempt uuid, OUT attempt_status text, OUT run_status text, OUT lease_version integer, OUT expires_at timestamp with time zone, OUT deadline_at timestamp with time zone, OUT stop_reason text, OUT stop_requested_at timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: admit_run(uuid, uuid, text, text, integer, text, text, integer, timestamp with time zone, uuid, text, integer, integer, text, bytea, jsonb, text); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.admit_run(p_run uuid, p_attempt uuid, p_project text, p_task text, p_revision integer, p_cause text, p_trigger text, p_trigger_revision integer, p_scheduled_for timestamp with time zone, p_rerun_of uuid, p_idempotency_key text, p_requested_revision integer, p_requested_priority integer, p_plan text, p_plan_digest bytea, p_input jsonb, p_actor text, OUT run uuid, OUT created boolean, OUT refusal text) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    project_state text;
    task_state text;
    revision tenure.task_revisions;
    existing tenure.runs;
    at timestamptz;
BEGIN
    created := false;
    SELECT d.project_state, d.task_state INTO project_state, task_state
    FROM tenure.lock_definitions(p_project, p_task, p_trigger) d;
    SELECT * INTO revision FROM tenure.task_revisions t
    WHERE t.project = p_project AND t.task = p_task AND t.revision = p_revision;
    at := tenure.clock();

    IF revision.revision IS NULL THEN
        refusal := 'unknown_task';
        RETURN;
    END IF;

    -- Insert first and look later: a statement that inserts or gets in one step can see neither row.
    IF project_state = 'active' AND task_state = 'active' THEN
        INSERT INTO tenure.runs AS r (
            run, project, kind, task, task_revision, task_digest, cause, trigger, trigger_revision, scheduled_for,
            rerun_of, status, version, event_sequence, priority, idempotency_key, requested_revision,
            requested_priority, plan, plan_digest, timeout_us, input, created_at, queued_at)
        VALUES (
            p_run, p_project, 'task', p_task, p_revision, revision.digest, p_cause, p_trigger, p_trigger_revision,
            p_scheduled_for, p_rerun_of, 'queued', 1, 1, coalesce(p_requested_priority, revision.priority),
            p_idempotency_key, p_requested_revision, p_requested_priority, p_plan, p_plan_digest,
            revision.timeout_us, p_input, at, at)
        ON CONFLICT (project, idempotency_key) DO NOTHING;
        created := FOUND;
    END IF;

    IF NOT created THEN
        SELECT * INTO existing FROM tenure.runs r
        WHERE r.project = p_project AND r.idempotency_key = p_idempotency_key;
        run := existing.run;
        refusal := CASE
            WHEN existing.run IS NULL AND project_state <> 'active' THEN 'project_archived'
            WHEN existing.run IS NULL THEN 'task_archived'
            WHEN (existing.task, existing.input, existing.cause) IS DISTINCT FROM (p_task, p_input, p_cause)
              OR existing.requested_revision IS DISTINCT FROM p_requested_revision
              OR existing.requested_priority IS DISTINCT FROM p_requested_priority
              OR existing.rerun_of IS DISTINCT FROM p_rerun_of
              OR existing.scheduled_for IS DISTINCT FROM p_scheduled_for THEN 'content_conflict'
        END;
        RETURN;
    END IF;

    run := p_run;
    INSERT INTO tenure.run_events VALUES
        (p_run, 1, 'run.queued', NULL, 'queued', p_actor, at, 'admitted',
         jsonb_strip_nulls(jsonb_build_object('cause', p_cause, 'scheduled_for', p_scheduled_for)));
    INSERT INTO tenure.run_retry_policies
    SELECT p_run, policy.max_attempts, policy.on_failed, policy.on_timed_out, policy.on_lost, policy.safety,
           policy.delays_us, policy.exit_codes, policy.outcome_unknown_after_us, policy.presume_lost_after_us,
           policy.stop_on_lost_contact_us
    FROM jsonb_to_record(revision.retry) AS policy (
        max_attempts smallint, on_failed boolean, on_timed_out boolean, on_lost boolean, safety text,
        delays_us bigint[], exit_codes jsonb, outcome_unknown_after_us bigint, presume_lost_after_us bigint,
        stop_on_lost_contact_us bigint);
    PERFORM tenure.create_attempt(p_run, p_attempt, p_actor, at);
END
$$;

ALTER FUNCTION tenure.admit_run(p_run uuid, p_attempt uuid, p_project text, p_task text, p_revision integer, p_cause text, p_trigger text, p_trigger_revision integer, p_scheduled_for timestamp with time zone, p_rerun_of uuid, p_idempotency_key text, p_requested_revision integer, p_requested_priority integer, p_plan text, p_plan_digest bytea, p_input jsonb, p_actor text, OUT run uuid, OUT created boolean, OUT refusal text) OWNER TO tenure_owner;

--
-- Name: adopt_lease(uuid, uuid, interval, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.adopt_lease(p_attempt uuid, p_session uuid, p_lease interval, p_now timestamp with time zone) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
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

ALTER FUNCTION tenure.adopt_lease(p_attempt uuid, p_session uuid, p_lease interval, p_now timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: attested(uuid, integer, text); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.attested(p_attempt uuid, p_lease_generation integer, p_worker text, OUT last_sequence integer, OUT stopped boolean, OUT stopped_by_worker boolean) RETURNS record
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(max(x.sequence), 0), coalesce(bool_or(x.state = 'stopped'), false),
           coalesce(bool_or(x.state = 'stopped' AND x.actor = 'worker:' || p_worker), false)
    FROM tenure.attestations x
    WHERE x.attempt = p_attempt AND x.lease_generation = p_lease_generation
$$;

ALTER FUNCTION tenure.attested(p_attempt uuid, p_lease_generation integer, p_worker text, OUT last_sequence integer, OUT stopped boolean, OUT stopped_by_worker boolean) OWNER TO tenure_owner;

--
-- Name: authenticate_items(text[], bytea[]); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.authenticate_items(p_credentials text[], p_secrets bytea[]) RETURNS text[]
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT array_agg(tenure.authenticate_worker(p_credentials[i], p_secrets[i], tenure.clock()) ORDER BY i)
    FROM generate_subscripts(p_credentials, 1) i
$$;

ALTER FUNCTION tenure.authenticate_items(p_credentials text[], p_secrets bytea[]) OWNER TO tenure_owner;

--
-- Name: authenticate_worker(text, bytea, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.authenticate_worker(p_credential text, p_secret bytea, p_now timestamp with time zone) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    newest tenure.worker_credentials;
BEGIN
    SELECT * INTO newest FROM tenure.worker_credentials c
    WHERE c.credential = p_credential
    ORDER BY c.version DESC
    LIMIT 1;
    IF (newest.digest = p_secret
        AND newest.state = 'active'
        AND newest.not_before <= p_now
        AND (newest.expires_at IS NULL OR newest.expires_at > p_now)) IS NOT TRUE THEN
        RETURN NULL;
    END IF;
    IF newest.first_used_at IS NULL THEN
        PERFORM tenure.record_first_use(newest.credential, newest.version, newest.worker, p_now);
    END IF;
    RETURN newest.worker;
END
$$;

ALTER FUNCTION tenure.authenticate_worker(p_credential text, p_secret bytea, p_now timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: check_attempt_and_lease(); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.check_attempt_and_lease() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    a tenure.run_attempts;
    held boolean;
BEGIN
    SELECT * INTO a FROM tenure.run_attempts x WHERE x.attempt = NEW.attempt;
    held := EXISTS (SELECT FROM tenure.run_leases l WHERE l.attempt = NEW.attempt AND l.state = 'leased');
    IF (a.ended_at IS NOT NULL OR a.dispatchable) AND held OR a.status = 'claimed' AND NOT a.dispatchable AND NOT held THEN
        RAISE EXCEPTION USING
            ERRCODE = 'TN002',
            MESSAGE = format('attempt %s is %s (dispatchable: %s) while its lease is %s', a.attempt, a.status,
                             a.dispatchable, CASE WHEN held THEN 'live' ELSE 'not live' END);
    END IF;
    RETURN NULL;
END
$$;

ALTER FUNCTION tenure.check_attempt_and_lease() OWNER TO tenure_owner;

--
-- Name: claim_attempts(uuid, text, integer[], uuid[], bytea[], interval); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.claim_attempts(p_session uuid, p_worker text, p_classes integer[], p_offers uuid[], p_tokens bytea[], p_lease interval) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    taken uuid[];
    damaged uuid;
    first_seen uuid;
    leased integer;
    at timestamptz := tenure.clock();
BEGIN
    SELECT d.taken, d.first_seen INTO taken, first_seen
    FROM tenure.lock_dispatchable(p_session, p_classes, cardinality(p_offers), at) d;
    IF cardinality(taken) = 0 AND first_seen IS NOT NULL THEN
        taken := tenure.wait_for_dispatchable(first_seen);
    END IF;

    at := tenure.clock();
    FOR damaged IN
        SELECT a.attempt FROM tenure.run_attempts a JOIN tenure.runs r ON r.run = a.run
        WHERE a.attempt = ANY (taken)
          AND r.plan_digest <> sha256(convert_to('tenure/plan', 'UTF8') || '\x00'::bytea || convert_to(r.plan, 'UTF8'))
    LOOP
        PERFORM tenure.fail_damaged_plan(damaged, at);
        taken := array_remove(taken, damaged);
    END LOOP;
    IF cardinality(taken) = 0 THEN
        RETURN 0;
    END IF;

    UPDATE tenure.run_attempts a SET dispatchable = false WHERE a.attempt = ANY (taken);
    -- Stop, deadline and attested facts of an older generation do not carry over.
    INSERT INTO tenure.run_leases AS l (
        attempt, state, generation, version, worker, session, offer, token_digest, acquired_at, renewed_at, expires_at)
    SELECT t.attempt, 'leased', 1, 1, p_worker, p_session, p_offers[t.position], p_tokens[t.position], at, at,
           at + p_lease
    FROM unnest(taken) WITH ORDINALITY AS t (attempt, position)
    ON CONFLICT (attempt) DO UPDATE
    SET state = 'leased', generation = l.generation + 1, version = l.version + 1, worker = excluded.worker,
        session = excluded.session, offer = excluded.offer, token_digest = excluded.token_digest,
        acquired_at = excluded.acquired_at, renewed_at = excluded.renewed_at, expires_at = excluded.expires_at,
        stop_reason = NULL, stop_requested_at = NULL, deadline_at = NULL,
        attested_state = NULL, attested_sequence = NULL, attested_at = NULL, release_reason = NULL
    WHERE l.state = 'released';
    GET DIAGNOSTICS leased = ROW_COUNT;
    IF leased <> cardinality(taken) THEN
        RAISE EXCEPTION 'a dispatchable attempt carries a lease that was not released' USING ERRCODE = 'TN002';
    END IF;
    INSERT INTO tenure.spent_offers
    SELECT l.offer, l.attempt, l.generation, l.worker, l.token_digest
    FROM tenure.run_leases l WHERE l.attempt = ANY (taken);

    WITH moved AS (
        UPDATE tenure.runs r
        SET status = 'dispatching', version = r.version + 1, event_sequence = r.event_sequence + 1
        FROM tenure.run_attempts a
        WHERE a.attempt = ANY (taken) AND r.run = a.run
        RETURNING r.run, r.event_sequence, a.attempt
    )
    INSERT INTO tenure.run_events
    SELECT m.run, m.event_sequence, 'run.dispatching', 'queued', 'dispatching', 'worker:' || p_worker, at,
           'claimed:' || m.attempt || ':' || l.generation,
           jsonb_build_object('attempt', m.attempt, 'lease_generation', l.generation, 'session', p_session)
    FROM moved m JOIN tenure.run_leases l ON l.attempt = m.attempt;
    RETURN leased;
END
$$;

ALTER FUNCTION tenure.claim_attempts(p_session uuid, p_worker text, p_classes integer[], p_offers uuid[], p_tokens bytea[], p_lease interval) OWNER TO tenure_owner;

--
-- Name: clock(); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.clock() RETURNS timestamp with time zone
    LANGUAGE sql PARALLEL SAFE
    AS $$ SELECT pg_catalog.clock_timestamp() $$;

ALTER FUNCTION tenure.clock() OWNER TO tenure_owner;

--
-- Name: create_attempt(uuid, uuid, text, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.create_attempt(p_run uuid, p_attempt uuid, p_actor text, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    r tenure.runs;
    earlier integer;
    placement_class integer;
    event_sequence integer;
BEGIN
    SELECT * INTO STRICT r FROM tenure.runs x WHERE x.run = p_run;
    SELECT count(*) INTO earlier FROM tenure.run_attempts a WHERE a.run = p_run;
    SELECT t.class INTO STRICT placement_class
    FROM tenure.task_revisions t
    WHERE t.project = r.project AND t.task = r.task AND t.revision = r.task_revision;

    INSERT INTO tenure.run_attempts (attempt, run, number, try, status, dispatchable, class, priority, fair_tag,
                                     ready_at, created_at)
    VALUES (p_attempt, p_run, earlier + 1, earlier + 1, 'claimed', true, placement_class, r.priority,
            tenure.take_fair_tag(r.project, r.priority, placement_class), p_now, p_now);

    UPDATE tenure.runs x
    SET version = x.version + 1, event_sequence = x.event_sequence + 1
    WHERE x.run = p_run
    RETURNING x.event_sequence INTO event_sequence;
    INSERT INTO tenure.run_events VALUES
        (p_run, event_sequence, 'attempt.claimed', NULL, 'claimed', p_actor, p_now, 'attempt:' || p_attempt,
         jsonb_build_object('attempt', p_attempt, 'number', earlier + 1));
END
$$;

ALTER FUNCTION tenure.create_attempt(p_run uuid, p_attempt uuid, p_actor text, p_now timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: cross_barrier(uuid, text, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.cross_barrier(p_attempt uuid, p_worker text, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
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

ALTER FUNCTION tenure.cross_barrier(p_attempt uuid, p_worker text, p_now timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: end_attempt(uuid, text, bigint, timestamp with time zone, timestamp with time zone, jsonb, text, text, text, jsonb, text, bytea, boolean, text, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.end_attempt(p_attempt uuid, p_status text, p_exit_code bigint, p_started_at timestamp with time zone, p_finished_at timestamp with time zone, p_output jsonb, p_output_flag text, p_error_code text, p_error_message text, p_log jsonb, p_stop_answer text, p_content bytea, p_late boolean, p_worker text, p_now timestamp with time zone) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    a tenure.run_attempts;
    r tenure.runs;
    delay_us bigint;
    run_status text := p_status;
    started timestamptz;
    finished timestamptz;
    ended timestamptz;
    facts jsonb;
BEGIN
    SELECT * INTO STRICT a FROM tenure.run_attempts x WHERE x.attempt = p_attempt;
    SELECT * INTO STRICT r FROM tenure.runs x WHERE x.run = a.run;
    IF p_status IN ('failed', 'timed_out') THEN
        delay_us := tenure.retry_delay_us(a.run, p_status, a.try, p_exit_code);
    END IF;
    IF delay_us IS NOT NULL THEN
        run_status := 'retry_wait';
    END IF;
    started := greatest(a.barrier_at, least(coalesce(a.started_at, p_started_at), p_now));
    finished := greatest(started, least(p_finished_at, p_now));
    -- The clock may have gone back since the start; what is stored does not.
    ended := greatest(started, p_now);
    facts := jsonb_strip_nulls(jsonb_build_object(
        'attempt', p_attempt, 'exit_code', p_exit_code, 'code', p_error_code, 'stop_answer', p_stop_answer,
        'output_flag', p_output_flag,
        'late', CASE WHEN p_late THEN true END,
        'late_deadline', CASE WHEN p_status = 'succeeded' AND a.deadline_at <= p_now THEN true END,
        'times_clamped', CASE WHEN finished IS DISTINCT FROM p_finished_at
                                OR p_started_at NOT BETWEEN a.barrier_at AND p_now THEN true END));

    UPDATE tenure.run_leases l
    SET state = 'completed', version = l.version + 1
    WHERE l.attempt = p_attempt AND l.state = 'leased';

    UPDATE tenure.run_attempts x
    SET status = p_status, exit_code = p_exit_code, started_at = started, finished_at = finished, ended_at = ended,
        output = p_output, output_flag = p_output_flag, error_code = p_error_code, error_message = p_error_message,
        log = p_log, stop_answer = p_stop_answer, outcome_content = p_content, outcome_late = p_late,
        outcome_run = run_status
    WHERE x.attempt = p_attempt;

    UPDATE tenure.runs x
    SET status = run_status,
        started_at = coalesce(x.started_at, started),
        next_attempt_at = CASE WHEN run_status = 'retry_wait'
                               THEN p_now + delay_us * interval '1 microsecond' END,
        finished_at = CASE WHEN run_status <> 'retry_wait' THEN ended END,
        output = CASE WHEN run_status <> 'retry_wait' THEN p_output END,
        output_flag = CASE WHEN run_status <> 'retry_wait' THEN p_output_flag END,
        error_code = p_error_code, error_message = p_error_message,
        version = x.version + 2, event_sequence = x.event_sequence + 2
    WHERE x.run = a.run;

    INSERT INTO tenure.run_events VALUES
        (a.run, r.event_sequence + 1, 'attempt.' || p_status, a.status, p_status, 'worker:' || p_worker, p_now,
         'attempt-ended:' || p_attempt, facts),
        (a.run, r.event_sequence + 2, 'run.' || run_status, r.status, run_status, 'worker:' || p_worker, p_now,
         'run-moved:' || p_attempt,
         jsonb_strip_nulls(jsonb_build_object('attempt', p_attempt, 'code', p_error_code, 'delay_us', delay_us)));
    RETURN run_status;
END
$$;

ALTER FUNCTION tenure.end_attempt(p_attempt uuid, p_status text, p_exit_code bigint, p_started_at timestamp with time zone, p_finished_at timestamp with time zone, p_output jsonb, p_output_flag text, p_error_code text, p_error_message text, p_log jsonb, p_stop_answer text, p_content bytea, p_late boolean, p_worker text, p_now timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: fail_damaged_plan(uuid, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.fail_damaged_plan(p_attempt uuid, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    r tenure.runs;
BEGIN
    UPDATE tenure.run_attempts a
    SET status = 'failed', dispatchable = false, error_code = 'digest_mismatch', ended_at = p_now
    WHERE a.attempt = p_attempt;
    UPDATE tenure.runs x
    SET status = 'failed', error_code = 'digest_mismatch',
        error_message = 'the stored plan does not match the digest it was admitted with', finished_at = p_now,
        version = x.version + 2, event_sequence = x.event_sequence + 2
    WHERE x.run = (SELECT a.run FROM tenure.run_attempts a WHERE a.attempt = p_attempt)
    RETURNING x.* INTO r;
    INSERT INTO tenure.run_events VALUES
        (r.run, r.event_sequence - 1, 'attempt.failed', 'claimed', 'failed', 'system', p_now,
         'attempt-ended:' || p_attempt, jsonb_build_object('attempt', p_attempt, 'code', 'digest_mismatch')),
        (r.run, r.event_sequence, 'run.failed', 'queued', 'failed', 'system', p_now, 'run-ended',
         jsonb_build_object('code', 'digest_mismatch'));
END
$$;

ALTER FUNCTION tenure.fail_damaged_plan(p_attempt uuid, p_now timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: run_leases; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.run_leases (
    attempt uuid NOT NULL,
    state text NOT NULL,
    generation integer NOT NULL,
    version integer NOT NULL,
    worker text NOT NULL,
    session uuid NOT NULL,
    offer uuid NOT NULL,
    token_digest bytea NOT NULL,
    acquired_at timestamp with time zone NOT NULL,
    renewed_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    stop_reason text,
    stop_requested_at timestamp with time zone,
    deadline_at timestamp with time zone,
    attested_state text,
    attested_sequence integer,
    attested_at timestamp with time zone,
    release_reason text,
    CONSTRAINT run_leases_attested_state_check CHECK ((attested_state = ANY (ARRAY['running'::text, 'stopped'::text]))),
    CONSTRAINT run_leases_check CHECK (((state = 'released'::text) = (release_reason IS NOT NULL))),
    CONSTRAINT run_leases_check1 CHECK (((stop_reason IS NULL) = (stop_requested_at IS NULL))),
    CONSTRAINT run_leases_check2 CHECK ((num_nonnulls(attested_state, attested_sequence, attested_at) = ANY (ARRAY[0, 3]))),
    CONSTRAINT run_leases_generation_check CHECK ((generation >= 1)),
    CONSTRAINT run_leases_release_reason_check CHECK ((release_reason = ANY (ARRAY['declined'::text, 'shutdown'::text, 'lease_expired'::text, 'superseded'::text, 'settled'::text]))),
    CONSTRAINT run_leases_state_check CHECK ((state = ANY (ARRAY['leased'::text, 'released'::text, 'completed'::text]))),
    CONSTRAINT run_leases_stop_reason_check CHECK ((stop_reason = ANY (ARRAY['user'::text, 'timeout'::text, 'policy'::text]))),
    CONSTRAINT run_leases_token_digest_check CHECK ((octet_length(token_digest) = 32)),
    CONSTRAINT run_leases_version_check CHECK ((version >= 1))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000');

ALTER TABLE tenure.run_leases OWNER TO tenure_owner;

--
-- Name: fence_refusal(tenure.run_leases, text, uuid, bytea, integer, integer); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.fence_refusal(l tenure.run_leases, p_worker text, p_offer uuid, p_token bytea, p_generation integer, p_version integer) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE
        WHEN l.attempt IS NULL
          OR (l.worker, l.offer, l.token_digest, l.generation)
             IS DISTINCT FROM (p_worker, p_offer, p_token, p_generation) THEN 'lease_fenced'
        WHEN (p_version <= l.version) IS NOT TRUE THEN 'invalid_field'
    END
$$;

ALTER FUNCTION tenure.fence_refusal(l tenure.run_leases, p_worker text, p_offer uuid, p_token bytea, p_generation integer, p_version integer) OWNER TO tenure_owner;

--
-- Name: jsonb_or_null(text); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.jsonb_or_null(p_text text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN p_text::jsonb;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END
$$;

ALTER FUNCTION tenure.jsonb_or_null(p_text text) OWNER TO tenure_owner;

--
-- Name: judge_acknowledgement(text, uuid, integer, uuid, uuid, bytea, integer, integer, uuid[], boolean); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.judge_acknowledgement(p_worker text, p_session uuid, p_generation integer, p_attempt uuid, p_offer uuid, p_token bytea, p_lease_generation integer, p_lease_version integer, p_ours uuid[], p_live boolean, OUT refusal text, OUT locked boolean, OUT lease tenure.run_leases) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
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

ALTER FUNCTION tenure.judge_acknowledgement(p_worker text, p_session uuid, p_generation integer, p_attempt uuid, p_offer uuid, p_token bytea, p_lease_generation integer, p_lease_version integer, p_ours uuid[], p_live boolean, OUT refusal text, OUT locked boolean, OUT lease tenure.run_leases) OWNER TO tenure_owner;

--
-- Name: lock_attempts(uuid[]); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.lock_attempts(p_attempts uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    locked_runs uuid[];
    locked_attempts uuid[];
    locked_leases uuid[];
BEGIN
    locked_runs := ARRAY(
        SELECT r.run FROM tenure.runs r
        WHERE r.run = ANY (ARRAY(SELECT a.run FROM tenure.run_attempts a WHERE a.attempt = ANY (p_attempts)))
        ORDER BY r.run FOR NO KEY UPDATE SKIP LOCKED);
    locked_attempts := ARRAY(
        SELECT a.attempt FROM tenure.run_attempts a
        WHERE a.attempt = ANY (p_attempts) AND a.run = ANY (locked_runs)
        ORDER BY a.attempt FOR NO KEY UPDATE SKIP LOCKED);
    locked_leases := ARRAY(
        SELECT l.attempt FROM tenure.run_leases l
        WHERE l.attempt = ANY (locked_attempts)
        ORDER BY l.attempt FOR NO KEY UPDATE SKIP LOCKED);
    RETURN locked_leases;
END
$$;

ALTER FUNCTION tenure.lock_attempts(p_attempts uuid[]) OWNER TO tenure_owner;

--
-- Name: lock_definitions(text, text, text); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.lock_definitions(p_project text, p_task text, p_trigger text, OUT project_state text, OUT task_state text, OUT trigger_state text, OUT trigger_revision integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    SELECT p.state INTO project_state FROM tenure.projects p WHERE p.project = p_project FOR SHARE;
    SELECT h.state INTO task_state FROM tenure.task_heads h
    WHERE h.project = p_project AND h.task = p_task FOR SHARE;
    SELECT h.state, h.current_revision INTO trigger_state, trigger_revision FROM tenure.trigger_heads h
    WHERE h.project = p_project AND h.trigger = p_trigger FOR SHARE;
END
$$;

ALTER FUNCTION tenure.lock_definitions(p_project text, p_task text, p_trigger text, OUT project_state text, OUT task_state text, OUT trigger_state text, OUT trigger_revision integer) OWNER TO tenure_owner;

--
-- Name: lock_dispatchable(uuid, integer[], integer, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.lock_dispatchable(p_session uuid, p_classes integer[], p_want integer, p_now timestamp with time zone, OUT taken uuid[], OUT first_seen uuid) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    candidates uuid[];
    span integer;
    -- A variable, because the literal would let a planner without statistics read every queued run by their index.
    queued CONSTANT text := 'queued';
BEGIN
    taken := '{}';
    FOR round IN 0 .. 2 LOOP
        span := 2 * p_want + 64 * round * round;
        candidates := ARRAY(
            SELECT head.attempt
            FROM unnest(p_classes) AS c (class)
            CROSS JOIN LATERAL (
                SELECT a.attempt, a.priority, a.fair_tag, a.ready_at
                FROM tenure.run_attempts a
                WHERE a.dispatchable AND a.class = c.class
                  AND NOT a.attempt = ANY (taken)
                  -- Else a few hundred runs that were cancelled and not ended yet would hide what is behind them. Not
                  -- as a join, which a planner might begin with all runs.
                  AND (SELECT r.cancel_requested_at IS NULL FROM tenure.runs r WHERE r.run = a.run)
                  AND NOT EXISTS (
                      SELECT FROM tenure.attempt_declines d
                      WHERE d.attempt = a.attempt AND d.session = p_session
                        AND d.declined_at > p_now - interval '30 seconds')
                ORDER BY a.priority DESC, a.fair_tag, a.ready_at, a.attempt
                LIMIT span) head
            ORDER BY head.priority DESC, head.fair_tag, head.ready_at, head.attempt
            LIMIT span);
        first_seen := coalesce(first_seen, candidates[1]);
        taken := taken || ARRAY(
            SELECT a.attempt
            FROM unnest(candidates) WITH ORDINALITY AS c (attempt, rank)
            JOIN tenure.run_attempts a ON a.attempt = c.attempt
            JOIN tenure.runs r ON r.run = a.run
            WHERE a.dispatchable AND r.status = queued AND r.cancel_requested_at IS NULL
            ORDER BY c.rank
            LIMIT p_want - cardinality(taken)
            FOR NO KEY UPDATE OF r, a SKIP LOCKED);
        EXIT WHEN cardinality(taken) >= p_want OR cardinality(candidates) < span;
    END LOOP;
END
$$;

ALTER FUNCTION tenure.lock_dispatchable(p_session uuid, p_classes integer[], p_want integer, p_now timestamp with time zone, OUT taken uuid[], OUT first_seen uuid) OWNER TO tenure_owner;

--
-- Name: lock_items(uuid[], text[]); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.lock_items(p_attempts uuid[], p_workers text[]) RETURNS uuid[]
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT tenure.lock_attempts(ARRAY(
        SELECT i.attempt FROM unnest(p_attempts, p_workers) AS i (attempt, worker) WHERE i.worker IS NOT NULL))
$$;

ALTER FUNCTION tenure.lock_items(p_attempts uuid[], p_workers text[]) OWNER TO tenure_owner;

--
-- Name: mark_running(uuid, text, timestamp with time zone, bytea, text, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.mark_running(p_attempt uuid, p_handle text, p_started_at timestamp with time zone, p_content bytea, p_worker text, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
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

ALTER FUNCTION tenure.mark_running(p_attempt uuid, p_handle text, p_started_at timestamp with time zone, p_content bytea, p_worker text, p_now timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: note_attestation(uuid, text, integer, text, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.note_attestation(p_attempt uuid, p_state text, p_sequence integer, p_actor text, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
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

ALTER FUNCTION tenure.note_attestation(p_attempt uuid, p_state text, p_sequence integer, p_actor text, p_now timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: placement_class(bytea, jsonb); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.placement_class(p_digest bytea, p_placement jsonb) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    found integer;
BEGIN
    SELECT c.class INTO found FROM tenure.placement_classes c WHERE c.digest = p_digest;
    IF found IS NULL THEN
        LOCK TABLE tenure.placement_classes IN SHARE ROW EXCLUSIVE MODE;
        SELECT c.class INTO found FROM tenure.placement_classes c WHERE c.digest = p_digest;
    END IF;
    IF found IS NULL THEN
        INSERT INTO tenure.placement_classes (digest, placement) VALUES (p_digest, p_placement)
        RETURNING class INTO found;
    END IF;
    RETURN found;
END
$$;

ALTER FUNCTION tenure.placement_class(p_digest bytea, p_placement jsonb) OWNER TO tenure_owner;

--
-- Name: placement_matches(jsonb, jsonb, text[], text[]); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.placement_matches(p_placement jsonb, p_labels jsonb, p_executors text[], p_handlers text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT p_placement ->> 'executor' = ANY (p_executors)
       AND (p_placement ->> 'handler' IS NULL OR p_placement ->> 'handler' = ANY (p_handlers))
       AND p_labels @> (p_placement -> 'require')
       AND (jsonb_array_length(p_placement -> 'any') = 0
            OR EXISTS (SELECT FROM jsonb_array_elements(p_placement -> 'any') alternative
                       WHERE p_labels @> alternative))
       AND NOT EXISTS (SELECT FROM jsonb_each_text(p_placement -> 'forbid') forbidden
                       WHERE p_labels ->> forbidden.key = forbidden.value)
$$;

ALTER FUNCTION tenure.placement_matches(p_placement jsonb, p_labels jsonb, p_executors text[], p_handlers text[]) OWNER TO tenure_owner;

--
-- Name: record_first_use(text, integer, text, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.record_first_use(p_credential text, p_version integer, p_worker text, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM FROM tenure.worker_credentials c
    WHERE c.credential = p_credential AND c.version = p_version AND c.first_used_at IS NULL
    FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE tenure.worker_credentials c SET first_used_at = p_now
        WHERE c.credential = p_credential AND c.version = p_version;
        INSERT INTO tenure.security_audit_events (at, actor, action, object, detail)
        VALUES (p_now, 'worker:' || p_worker, 'credential.first_use',
                'worker:' || p_worker || '/credential:' || p_credential, jsonb_build_object('version', p_version));
    END IF;
END
$$;

ALTER FUNCTION tenure.record_first_use(p_credential text, p_version integer, p_worker text, p_now timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: record_late_callback(uuid, text, bytea, text, jsonb, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.record_late_callback(p_attempt uuid, p_call text, p_content bytea, p_worker text, p_payload jsonb, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    a tenure.run_attempts;
    key text := 'late:' || p_attempt || ':' || p_call || ':' || left(encode(p_content, 'hex'), 16);
    sequence integer;
BEGIN
    SELECT * INTO STRICT a FROM tenure.run_attempts x WHERE x.attempt = p_attempt;
    IF a.late_callbacks >= 8
       OR EXISTS (SELECT FROM tenure.run_events e WHERE e.run = a.run AND e.dedupe_key = key) THEN
        RETURN;
    END IF;
    UPDATE tenure.run_attempts x SET late_callbacks = x.late_callbacks + 1 WHERE x.attempt = p_attempt;
    UPDATE tenure.runs r SET version = r.version + 1, event_sequence = r.event_sequence + 1
    WHERE r.run = a.run RETURNING r.event_sequence INTO sequence;
    INSERT INTO tenure.run_events VALUES
        (a.run, sequence, 'attempt.late_callback', a.status, a.status, 'worker:' || p_worker, p_now, key,
         jsonb_strip_nulls(p_payload || jsonb_build_object('attempt', p_attempt, 'call', p_call)));
END
$$;

ALTER FUNCTION tenure.record_late_callback(p_attempt uuid, p_call text, p_content bytea, p_worker text, p_payload jsonb, p_now timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: refresh_classes(uuid); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.refresh_classes(p_session uuid, OUT classes integer[], OUT classes_seen integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    s tenure.worker_sessions;
    newest integer;
BEGIN
    SELECT * INTO STRICT s FROM tenure.worker_sessions x WHERE x.session = p_session;
    SELECT coalesce(max(c.class), 0) INTO newest FROM tenure.placement_classes c;
    IF newest > s.classes_seen THEN
        s.classes := s.classes || ARRAY(
            SELECT c.class FROM tenure.placement_classes c
            WHERE c.class > s.classes_seen AND c.class <= newest
              AND tenure.placement_matches(c.placement, s.labels, s.executors, s.handlers)
            ORDER BY c.class);
        s.classes_seen := newest;
        UPDATE tenure.worker_sessions x SET classes = s.classes, classes_seen = newest WHERE x.session = p_session;
    END IF;
    classes := s.classes;
    classes_seen := s.classes_seen;
END
$$;

ALTER FUNCTION tenure.refresh_classes(p_session uuid, OUT classes integer[], OUT classes_seen integer) OWNER TO tenure_owner;

--
-- Name: refuse_change(); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'TN003', MESSAGE = format('%s is append-only', TG_TABLE_NAME); END $$;

ALTER FUNCTION tenure.refuse_change() OWNER TO tenure_owner;

--
-- Name: refuse_transition(); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.refuse_transition() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    machine text := TG_ARGV[0];
    state_column text := TG_ARGV[1];
    was text := CASE WHEN TG_OP = 'UPDATE' THEN to_jsonb(OLD) ->> state_column ELSE '(none)' END;
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'TN001',
        MESSAGE = format('%s may not go from %s to %s', machine, was, to_jsonb(NEW) ->> state_column);
END
$$;

ALTER FUNCTION tenure.refuse_transition() OWNER TO tenure_owner;

--
-- Name: reported_status(text, boolean, text, text, text, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.reported_status(p_outcome text, p_cancelled boolean, p_stop_reason text, p_stop_answer text, p_error_code text, p_deadline_at timestamp with time zone, p_now timestamp with time zone) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT CASE
        WHEN p_cancelled THEN 'cancelled'
        WHEN p_outcome = 'succeeded' THEN 'succeeded'
        WHEN p_stop_reason = 'timeout' AND p_stop_answer = 'stopped' THEN 'timed_out'
        WHEN p_error_code = 'deadline_exceeded' AND p_deadline_at <= p_now THEN 'timed_out'
        ELSE 'failed' END
$$;

ALTER FUNCTION tenure.reported_status(p_outcome text, p_cancelled boolean, p_stop_reason text, p_stop_answer text, p_error_code text, p_deadline_at timestamp with time zone, p_now timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: retry_delay_us(uuid, text, integer, bigint); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.retry_delay_us(p_run uuid, p_cause text, p_try integer, p_exit_code bigint) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT CASE
        WHEN p_try >= p.max_attempts THEN NULL
        WHEN p_cause = 'failed' AND p.exit_codes ->> p_exit_code::text = 'fail' THEN NULL
        WHEN p_cause = 'failed' AND p.exit_codes ->> p_exit_code::text = 'retry' THEN p.delays_us[p_try]
        WHEN p_cause = 'failed' AND p.on_failed THEN p.delays_us[p_try]
        WHEN p_cause = 'timed_out' AND p.on_timed_out THEN p.delays_us[p_try]
    END
    FROM tenure.run_retry_policies p WHERE p.run = p_run
$$;

ALTER FUNCTION tenure.retry_delay_us(p_run uuid, p_cause text, p_try integer, p_exit_code bigint) OWNER TO tenure_owner;

--
-- Name: return_to_queue(uuid, text, text, timestamp with time zone); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.return_to_queue(p_attempt uuid, p_reason text, p_actor text, p_now timestamp with time zone) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    r tenure.runs;
    lease_generation integer;
    claims integer;
BEGIN
    UPDATE tenure.run_leases l
    SET state = 'released', release_reason = p_reason, version = l.version + 1
    WHERE l.attempt = p_attempt AND l.state = 'leased'
    RETURNING l.generation INTO STRICT lease_generation;
    SELECT x.* INTO STRICT r
    FROM tenure.runs x JOIN tenure.run_attempts a ON a.run = x.run WHERE a.attempt = p_attempt;
    claims := r.unstarted_claims + CASE WHEN p_reason IN ('declined', 'lease_expired') THEN 1 ELSE 0 END;

    IF claims >= 16 AND r.cancel_requested_at IS NULL THEN
        UPDATE tenure.run_attempts a
        SET status = 'failed', error_code = 'never_started', ended_at = p_now
        WHERE a.attempt = p_attempt;
        UPDATE tenure.runs x
        SET status = 'failed', error_code = 'never_started',
            error_message = format('claimed %s times without ever being started', claims),
            unstarted_claims = claims, finished_at = p_now,
            version = x.version + 2, event_sequence = x.event_sequence + 2
        WHERE x.run = r.run;
        INSERT INTO tenure.run_events VALUES
            (r.run, r.event_sequence + 1, 'attempt.failed', 'claimed', 'failed', p_actor, p_now,
             'attempt-ended:' || p_attempt,
             jsonb_build_object('attempt', p_attempt, 'lease_generation', lease_generation, 'code', 'never_started')),
            (r.run, r.event_sequence + 2, 'run.failed', r.status, 'failed', p_actor, p_now, 'run-ended',
             jsonb_build_object('code', 'never_started'));
        RETURN 'failed';
    END IF;

    UPDATE tenure.run_attempts a SET dispatchable = true WHERE a.attempt = p_attempt;
    UPDATE tenure.runs x
    SET status = 'queued', queued_at = greatest(x.queued_at, p_now), unstarted_claims = claims,
        version = x.version + 1, event_sequence = x.event_sequence + 1
    WHERE x.run = r.run;
    INSERT INTO tenure.run_events VALUES
        (r.run, r.event_sequence + 1, 'run.queued', r.status, 'queued', p_actor, p_now,
         'released:' || p_attempt || ':' || lease_generation,
         jsonb_build_object('attempt', p_attempt, 'lease_generation', lease_generation, 'reason', p_reason));
    RETURN 'queued';
END
$$;

ALTER FUNCTION tenure.return_to_queue(p_attempt uuid, p_reason text, p_actor text, p_now timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: return_unstarted(uuid, text, text); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.return_unstarted(p_session uuid, p_reason text, p_actor text) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    candidates uuid[];
    candidate uuid;
    returned integer := 0;
    at timestamptz;
BEGIN
    candidates := ARRAY(
        SELECT l.attempt FROM tenure.run_leases l JOIN tenure.run_attempts a ON a.attempt = l.attempt
        WHERE l.session = p_session AND l.state = 'leased' AND a.status = 'claimed');
    PERFORM FROM tenure.runs r
        WHERE r.run = ANY (ARRAY(SELECT a.run FROM tenure.run_attempts a WHERE a.attempt = ANY (candidates)))
        ORDER BY r.run FOR NO KEY UPDATE;
    PERFORM FROM tenure.run_attempts a WHERE a.attempt = ANY (candidates) ORDER BY a.attempt FOR NO KEY UPDATE;
    PERFORM FROM tenure.run_leases l WHERE l.attempt = ANY (candidates) ORDER BY l.attempt FOR NO KEY UPDATE;
    at := tenure.clock();
    FOR candidate IN
        SELECT a.attempt FROM tenure.run_attempts a JOIN tenure.run_leases l ON l.attempt = a.attempt
        WHERE a.attempt = ANY (candidates) AND a.status = 'claimed'
          AND l.state = 'leased' AND l.session = p_session
        ORDER BY a.attempt
    LOOP
        PERFORM tenure.return_to_queue(candidate, p_reason, p_actor, at);
        returned := returned + 1;
    END LOOP;
    RETURN returned;
END
$$;

ALTER FUNCTION tenure.return_unstarted(p_session uuid, p_reason text, p_actor text) OWNER TO tenure_owner;

--
-- Name: session_refusal(uuid, integer, text, boolean); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.session_refusal(p_session uuid, p_generation integer, p_worker text, p_live boolean) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT CASE WHEN EXISTS (
        SELECT FROM tenure.worker_sessions s
        WHERE s.session = p_session AND s.worker = p_worker AND s.generation = p_generation
          AND (NOT p_live OR s.status IN ('online', 'draining')))
    THEN NULL ELSE 'session_fenced' END
$$;

ALTER FUNCTION tenure.session_refusal(p_session uuid, p_generation integer, p_worker text, p_live boolean) OWNER TO tenure_owner;

--
-- Name: stored_outcome(uuid); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.stored_outcome(p_attempt uuid, OUT late boolean, OUT output_flag text, OUT attempt_status text, OUT run_status text) RETURNS record
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(a.outcome_late, false), a.output_flag, a.status, coalesce(a.outcome_run, r.status)
    FROM tenure.run_attempts a JOIN tenure.runs r ON r.run = a.run
    WHERE a.attempt = p_attempt
$$;

ALTER FUNCTION tenure.stored_outcome(p_attempt uuid, OUT late boolean, OUT output_flag text, OUT attempt_status text, OUT run_status text) OWNER TO tenure_owner;

--
-- Name: take_fair_tag(text, integer, integer); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.take_fair_tag(p_project text, p_priority integer, p_class integer) RETURNS double precision
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    tag double precision;
    virtual_time double precision;
BEGIN
    SELECT s.next_fair_tag INTO STRICT tag
    FROM tenure.project_shares s WHERE s.project = p_project AND s.priority = p_priority
    FOR NO KEY UPDATE;

    SELECT min(a.fair_tag) INTO virtual_time
    FROM tenure.run_attempts a WHERE a.dispatchable AND a.class = p_class AND a.priority = p_priority;
    IF virtual_time IS NULL THEN
        SELECT max(a.fair_tag) INTO virtual_time
        FROM tenure.run_attempts a
        WHERE NOT a.dispatchable AND a.status IN ('claimed', 'starting', 'running') AND a.priority = p_priority;
    END IF;
    IF virtual_time IS NULL THEN
        SELECT max(s.next_fair_tag) INTO virtual_time FROM tenure.project_shares s WHERE s.priority = p_priority;
    END IF;

    tag := greatest(virtual_time, tag);
    UPDATE tenure.project_shares s SET next_fair_tag = tag + 1.0 / p.weight
    FROM tenure.projects p
    WHERE s.project = p_project AND s.priority = p_priority AND p.project = p_project;
    RETURN tag;
END
$$;

ALTER FUNCTION tenure.take_fair_tag(p_project text, p_priority integer, p_class integer) OWNER TO tenure_owner;

--
-- Name: touch_session(text, bytea, uuid, integer, text); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.touch_session(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_to text, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    w text;
    s tenure.worker_sessions;
BEGIN
    server_time := tenure.clock();
    w := tenure.authenticate_worker(p_credential, p_secret, server_time);
    IF w IS NULL THEN
        refusal := 'credential_refused';
        RETURN;
    END IF;
    SELECT * INTO s FROM tenure.worker_sessions x
    WHERE x.session = p_session AND x.worker = w FOR NO KEY UPDATE;
    server_time := tenure.clock();
    IF s.session IS NULL OR s.generation IS DISTINCT FROM p_generation OR s.status = 'replaced'
       OR (s.status = 'offline' AND p_to <> 'offline') THEN
        refusal := 'session_fenced';
        RETURN;
    END IF;

    UPDATE tenure.worker_sessions x
    SET status = p_to,
        version = x.version + CASE WHEN p_to <> s.status THEN 1 ELSE 0 END,
        seen_at = greatest(x.seen_at, server_time),
        expires_at = CASE WHEN p_to = 'offline' THEN x.expires_at
                          ELSE greatest(x.expires_at, server_time + x.session_lease) END,
        ended_at = CASE WHEN p_to = 'offline' THEN coalesce(x.ended_at, server_time) END
    WHERE x.session = p_session
    RETURNING x.* INTO s;
    IF p_to = 'offline' THEN
        PERFORM tenure.return_unstarted(p_session, 'shutdown', 'worker:' || w);
    END IF;
    generation := s.generation;
    version := s.version;
    status := s.status;
    expires_at := s.expires_at;
    drain_requested := s.drain_requested_at IS NOT NULL;
END
$$;

ALTER FUNCTION tenure.touch_session(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_to text, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone) OWNER TO tenure_owner;

--
-- Name: wait_for_dispatchable(uuid); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.wait_for_dispatchable(p_attempt uuid) RETURNS uuid[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM FROM tenure.runs r
        WHERE r.run = (SELECT a.run FROM tenure.run_attempts a WHERE a.attempt = p_attempt) FOR NO KEY UPDATE;
    PERFORM FROM tenure.run_attempts a WHERE a.attempt = p_attempt FOR NO KEY UPDATE;
    RETURN ARRAY(
        SELECT a.attempt FROM tenure.run_attempts a JOIN tenure.runs r ON r.run = a.run
        WHERE a.attempt = p_attempt AND a.dispatchable AND r.status = 'queued' AND r.cancel_requested_at IS NULL);
EXCEPTION WHEN lock_not_available THEN
    RETURN '{}';
END
$$;

ALTER FUNCTION tenure.wait_for_dispatchable(p_attempt uuid) OWNER TO tenure_owner;

--
-- Name: was_given_back(uuid, text, uuid, bytea, integer); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.was_given_back(p_attempt uuid, p_worker text, p_offer uuid, p_token bytea, p_lease_generation integer) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT EXISTS (
        SELECT FROM tenure.spent_offers o
        JOIN tenure.run_attempts a ON a.attempt = o.attempt
        JOIN tenure.run_leases l ON l.attempt = o.attempt
        LEFT JOIN tenure.run_events e ON e.run = a.run
             AND e.dedupe_key = 'released:' || o.attempt || ':' || o.lease_generation
        WHERE o.offer = p_offer AND o.attempt = p_attempt AND o.worker = p_worker AND o.token_digest = p_token
          AND o.lease_generation = p_lease_generation
          AND CASE WHEN l.generation = o.lease_generation THEN l.release_reason ELSE e.payload ->> 'reason' END
              IN ('declined', 'shutdown'))
$$;

ALTER FUNCTION tenure.was_given_back(p_attempt uuid, p_worker text, p_offer uuid, p_token bytea, p_lease_generation integer) OWNER TO tenure_owner;

--
-- Name: was_offered(uuid, text, uuid, bytea, integer); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.was_offered(p_attempt uuid, p_worker text, p_offer uuid, p_token bytea, p_lease_generation integer) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT EXISTS (
        SELECT FROM tenure.spent_offers o
        WHERE o.offer = p_offer AND o.attempt = p_attempt AND o.worker = p_worker AND o.token_digest = p_token
          AND o.lease_generation = p_lease_generation)
$$;

ALTER FUNCTION tenure.was_offered(p_attempt uuid, p_worker text, p_offer uuid, p_token bytea, p_lease_generation integer) OWNER TO tenure_owner;

--
-- Name: work_for_others(integer[]); Type: FUNCTION; Schema: tenure; Owner: tenure_owner
--

CREATE FUNCTION tenure.work_for_others(p_classes integer[]) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    WITH RECURSIVE waiting (class) AS (
        (SELECT a.class FROM tenure.run_attempts a WHERE a.dispatchable ORDER BY a.class LIMIT 1)
        UNION ALL
        SELECT (SELECT a.class FROM tenure.run_attempts a WHERE a.dispatchable AND a.class > w.class
                ORDER BY a.class LIMIT 1)
        FROM waiting w WHERE w.class IS NOT NULL
    )
    SELECT EXISTS (SELECT FROM waiting w WHERE w.class <> ALL (p_classes))
$$;

ALTER FUNCTION tenure.work_for_others(p_classes integer[]) OWNER TO tenure_owner;

--
-- Name: attempt_declines; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.attempt_declines (
    attempt uuid NOT NULL,
    session uuid NOT NULL,
    declined_at timestamp with time zone NOT NULL
);

ALTER TABLE tenure.attempt_declines OWNER TO tenure_owner;

--
-- Name: attestations; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.attestations (
    attestation uuid NOT NULL,
    attempt uuid NOT NULL,
    lease_generation integer NOT NULL,
    sequence integer NOT NULL,
    state text NOT NULL,
    actor text NOT NULL,
    session uuid,
    scope text,
    executor_handle text,
    observed_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    outcome jsonb,
    content bytea NOT NULL,
    CONSTRAINT attestations_check CHECK (((actor ~~ 'worker:%'::text) = (num_nonnulls(session, scope) = 2))),
    CONSTRAINT attestations_check1 CHECK (((outcome IS NULL) OR (state = 'stopped'::text))),
    CONSTRAINT attestations_content_check CHECK ((octet_length(content) = 32)),
    CONSTRAINT attestations_scope_check CHECK ((scope = ANY (ARRAY['cgroup'::text, 'group'::text, 'process'::text, 'handler'::text]))),
    CONSTRAINT attestations_sequence_check CHECK ((sequence >= 1)),
    CONSTRAINT attestations_state_check CHECK ((state = ANY (ARRAY['running'::text, 'stopped'::text])))
);

ALTER TABLE tenure.attestations OWNER TO tenure_owner;

--
-- Name: operator_tokens; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.operator_tokens (
    token text NOT NULL,
    operator text NOT NULL,
    digest bytea NOT NULL,
    state text DEFAULT 'active'::text NOT NULL,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT operator_tokens_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT operator_tokens_state_check CHECK ((state = ANY (ARRAY['active'::text, 'revoked'::text])))
);

ALTER TABLE tenure.operator_tokens OWNER TO tenure_owner;

--
-- Name: operators; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.operators (
    operator text NOT NULL,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE tenure.operators OWNER TO tenure_owner;

--
-- Name: placement_classes; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.placement_classes (
    class integer NOT NULL,
    digest bytea NOT NULL,
    placement jsonb NOT NULL,
    CONSTRAINT placement_classes_digest_check CHECK ((octet_length(digest) = 32))
);

ALTER TABLE tenure.placement_classes OWNER TO tenure_owner;

--
-- Name: placement_classes_class_seq; Type: SEQUENCE; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE tenure.placement_classes ALTER COLUMN class ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tenure.placement_classes_class_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: project_shares; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.project_shares (
    project text NOT NULL,
    priority smallint NOT NULL,
    next_fair_tag double precision DEFAULT 0 NOT NULL,
    CONSTRAINT project_shares_priority_check CHECK (((priority >= 0) AND (priority <= 9)))
)
WITH (fillfactor='50');

ALTER TABLE tenure.project_shares OWNER TO tenure_owner;

--
-- Name: projects; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.projects (
    project text NOT NULL,
    state text DEFAULT 'active'::text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    weight integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT projects_state_check CHECK ((state = ANY (ARRAY['active'::text, 'archived'::text]))),
    CONSTRAINT projects_weight_check CHECK (((weight >= 1) AND (weight <= 1000)))
);

ALTER TABLE tenure.projects OWNER TO tenure_owner;

--
-- Name: recovery_controls; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.recovery_controls (
    attempt uuid NOT NULL,
    status text NOT NULL,
    lease_generation integer NOT NULL,
    lease_version integer NOT NULL,
    attested_sequence integer,
    claim_owner text,
    claim_token uuid,
    claim_version bigint DEFAULT 0 NOT NULL,
    claim_expires_at timestamp with time zone,
    next_claim_at timestamp with time zone,
    failure_count integer DEFAULT 0 NOT NULL,
    last_answer text,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT recovery_controls_check CHECK (((status = 'claimed'::text) = (claim_owner IS NOT NULL))),
    CONSTRAINT recovery_controls_check1 CHECK ((num_nonnulls(claim_owner, claim_token, claim_expires_at) = ANY (ARRAY[0, 3]))),
    CONSTRAINT recovery_controls_check2 CHECK (((status = 'retry'::text) = (next_claim_at IS NOT NULL))),
    CONSTRAINT recovery_controls_status_check CHECK ((status = ANY (ARRAY['available'::text, 'claimed'::text, 'resolved'::text, 'retry'::text, 'manual'::text])))
);

ALTER TABLE tenure.recovery_controls OWNER TO tenure_owner;

--
-- Name: role_bindings; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.role_bindings (
    operator text NOT NULL,
    project text NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT role_bindings_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'operator'::text, 'viewer'::text])))
);

ALTER TABLE tenure.role_bindings OWNER TO tenure_owner;

--
-- Name: run_attempts; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.run_attempts (
    attempt uuid NOT NULL,
    run uuid NOT NULL,
    step text,
    number integer NOT NULL,
    try integer NOT NULL,
    status text NOT NULL,
    dispatchable boolean NOT NULL,
    class integer NOT NULL,
    priority smallint NOT NULL,
    fair_tag double precision NOT NULL,
    ready_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    barrier_at timestamp with time zone,
    deadline_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    ended_at timestamp with time zone,
    executor_handle text,
    exit_code bigint,
    output jsonb,
    output_flag text,
    error_code text,
    error_message text,
    log jsonb,
    stop_answer text,
    running_content bytea,
    outcome_content bytea,
    outcome_late boolean,
    outcome_run text,
    late_callbacks smallint DEFAULT 0 NOT NULL,
    CONSTRAINT run_attempts_check CHECK (((NOT dispatchable) OR (status = 'claimed'::text))),
    CONSTRAINT run_attempts_check1 CHECK (((status <> 'claimed'::text) OR ((barrier_at IS NULL) AND (deadline_at IS NULL)))),
    CONSTRAINT run_attempts_check2 CHECK (((status <> ALL (ARRAY['starting'::text, 'running'::text, 'succeeded'::text, 'timed_out'::text, 'lost'::text])) OR (barrier_at IS NOT NULL))),
    CONSTRAINT run_attempts_check3 CHECK (((status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'timed_out'::text, 'lost'::text])) = (ended_at IS NOT NULL))),
    CONSTRAINT run_attempts_number_check CHECK ((number >= 1)),
    CONSTRAINT run_attempts_output_flag_check CHECK ((output_flag = ANY (ARRAY['too_large'::text, 'invalid'::text]))),
    CONSTRAINT run_attempts_status_check CHECK ((status = ANY (ARRAY['claimed'::text, 'starting'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text, 'timed_out'::text, 'lost'::text]))),
    CONSTRAINT run_attempts_stop_answer_check CHECK ((stop_answer = ANY (ARRAY['stopped'::text, 'already_ended'::text, 'ignored'::text]))),
    CONSTRAINT run_attempts_try_check CHECK ((try >= 1))
)
WITH (fillfactor='80');

ALTER TABLE tenure.run_attempts OWNER TO tenure_owner;

--
-- Name: run_events; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.run_events (
    run uuid NOT NULL,
    sequence integer NOT NULL,
    type text NOT NULL,
    from_status text,
    to_status text,
    actor text NOT NULL,
    at timestamp with time zone NOT NULL,
    dedupe_key text NOT NULL,
    payload jsonb NOT NULL,
    CONSTRAINT run_events_sequence_check CHECK ((sequence >= 1))
);

ALTER TABLE tenure.run_events OWNER TO tenure_owner;

--
-- Name: run_retry_policies; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.run_retry_policies (
    run uuid NOT NULL,
    max_attempts smallint NOT NULL,
    on_failed boolean NOT NULL,
    on_timed_out boolean NOT NULL,
    on_lost boolean NOT NULL,
    safety text NOT NULL,
    delays_us bigint[] NOT NULL,
    exit_codes jsonb NOT NULL,
    outcome_unknown_after_us bigint,
    presume_lost_after_us bigint,
    stop_on_lost_contact_us bigint,
    CONSTRAINT run_retry_policies_check CHECK ((cardinality(delays_us) = (max_attempts - 1))),
    CONSTRAINT run_retry_policies_check1 CHECK (((safety <> 'unknown'::text) OR ((NOT on_lost) AND (presume_lost_after_us IS NULL)))),
    CONSTRAINT run_retry_policies_max_attempts_check CHECK (((max_attempts >= 1) AND (max_attempts <= 16))),
    CONSTRAINT run_retry_policies_safety_check CHECK ((safety = ANY (ARRAY['unknown'::text, 'idempotent'::text, 'deduplicated'::text])))
);

ALTER TABLE tenure.run_retry_policies OWNER TO tenure_owner;

--
-- Name: runs; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.runs (
    run uuid NOT NULL,
    project text NOT NULL,
    kind text NOT NULL,
    task text,
    task_revision integer,
    task_digest bytea,
    cause text NOT NULL,
    trigger text,
    trigger_revision integer,
    scheduled_for timestamp with time zone,
    rerun_of uuid,
    status text NOT NULL,
    version integer NOT NULL,
    event_sequence integer NOT NULL,
    priority smallint NOT NULL,
    idempotency_key text NOT NULL,
    requested_revision integer,
    requested_priority smallint,
    plan text,
    plan_digest bytea,
    timeout_us bigint,
    input jsonb NOT NULL,
    output jsonb,
    output_flag text,
    error_code text,
    error_message text,
    cancel_requested_at timestamp with time zone,
    cancel_reason text,
    next_attempt_at timestamp with time zone,
    unstarted_claims integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    queued_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    CONSTRAINT runs_cancel_reason_check CHECK ((cancel_reason = ANY (ARRAY['user'::text, 'policy'::text]))),
    CONSTRAINT runs_cause_check CHECK ((cause = ANY (ARRAY['cron'::text, 'manual'::text, 'rerun'::text]))),
    CONSTRAINT runs_check CHECK ((version = event_sequence)),
    CONSTRAINT runs_check1 CHECK (((kind = 'task'::text) = (num_nonnulls(task, task_revision, task_digest, plan, plan_digest) = 5))),
    CONSTRAINT runs_check2 CHECK (((status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'timed_out'::text])) = (finished_at IS NOT NULL))),
    CONSTRAINT runs_check3 CHECK (((status = 'retry_wait'::text) = (next_attempt_at IS NOT NULL))),
    CONSTRAINT runs_check4 CHECK (((cancel_requested_at IS NULL) = (cancel_reason IS NULL))),
    CONSTRAINT runs_check5 CHECK (((cause = 'cron'::text) = ((scheduled_for IS NOT NULL) AND (trigger IS NOT NULL)))),
    CONSTRAINT runs_kind_check CHECK ((kind = ANY (ARRAY['task'::text, 'workflow'::text]))),
    CONSTRAINT runs_output_flag_check CHECK ((output_flag = ANY (ARRAY['too_large'::text, 'invalid'::text]))),
    CONSTRAINT runs_plan_digest_check CHECK ((octet_length(plan_digest) = 32)),
    CONSTRAINT runs_priority_check CHECK (((priority >= 0) AND (priority <= 9))),
    CONSTRAINT runs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'dispatching'::text, 'running'::text, 'retry_wait'::text, 'lost'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text, 'timed_out'::text])))
)
WITH (fillfactor='80');

ALTER TABLE tenure.runs OWNER TO tenure_owner;

--
-- Name: schema_migrations; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.schema_migrations (
    id integer NOT NULL,
    name text NOT NULL,
    checksum bytea NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT schema_migrations_checksum_check CHECK ((octet_length(checksum) = 32))
);

ALTER TABLE tenure.schema_migrations OWNER TO tenure_owner;

--
-- Name: security_audit_events; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.security_audit_events (
    event bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    object text NOT NULL,
    request_id uuid,
    detail jsonb NOT NULL
);

ALTER TABLE tenure.security_audit_events OWNER TO tenure_owner;

--
-- Name: security_audit_events_event_seq; Type: SEQUENCE; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE tenure.security_audit_events ALTER COLUMN event ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tenure.security_audit_events_event_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: spent_offers; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.spent_offers (
    offer uuid NOT NULL,
    attempt uuid NOT NULL,
    lease_generation integer NOT NULL,
    worker text NOT NULL,
    token_digest bytea NOT NULL
);

ALTER TABLE tenure.spent_offers OWNER TO tenure_owner;

--
-- Name: task_heads; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.task_heads (
    project text NOT NULL,
    task text NOT NULL,
    current_revision integer NOT NULL,
    state text DEFAULT 'active'::text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT task_heads_current_revision_check CHECK ((current_revision >= 1)),
    CONSTRAINT task_heads_state_check CHECK ((state = ANY (ARRAY['active'::text, 'archived'::text])))
);

ALTER TABLE tenure.task_heads OWNER TO tenure_owner;

--
-- Name: task_revisions; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.task_revisions (
    project text NOT NULL,
    task text NOT NULL,
    revision integer NOT NULL,
    digest bytea NOT NULL,
    spec text NOT NULL,
    class integer NOT NULL,
    priority smallint NOT NULL,
    timeout_us bigint,
    retry jsonb NOT NULL,
    mutation_id uuid NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT task_revisions_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT task_revisions_priority_check CHECK (((priority >= 0) AND (priority <= 9))),
    CONSTRAINT task_revisions_revision_check CHECK ((revision >= 1)),
    CONSTRAINT task_revisions_timeout_us_check CHECK (((timeout_us >= 1000) AND (timeout_us <= '2592000000000'::bigint)))
);

ALTER TABLE tenure.task_revisions OWNER TO tenure_owner;

--
-- Name: trigger_cursors; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.trigger_cursors (
    project text NOT NULL,
    trigger text NOT NULL,
    revision integer NOT NULL,
    state text DEFAULT 'idle'::text NOT NULL,
    state_version bigint DEFAULT 1 NOT NULL,
    due_at timestamp with time zone,
    next_fire_at timestamp with time zone,
    last_fire_at timestamp with time zone,
    last_observed_at timestamp with time zone,
    last_decision text,
    event_sequence integer DEFAULT 0 NOT NULL,
    claim_owner text,
    claim_token uuid,
    claim_version bigint DEFAULT 0 NOT NULL,
    claim_expires_at timestamp with time zone,
    CONSTRAINT trigger_cursors_check CHECK (((state = 'claimed'::text) = (claim_owner IS NOT NULL))),
    CONSTRAINT trigger_cursors_check1 CHECK ((num_nonnulls(claim_owner, claim_token, claim_expires_at) = ANY (ARRAY[0, 3]))),
    CONSTRAINT trigger_cursors_check2 CHECK (((next_fire_at IS NULL) OR (due_at IS NULL) OR (due_at <= next_fire_at))),
    CONSTRAINT trigger_cursors_last_decision_check CHECK ((last_decision = ANY (ARRAY['initialize'::text, 'skip'::text, 'admit'::text]))),
    CONSTRAINT trigger_cursors_state_check CHECK ((state = ANY (ARRAY['idle'::text, 'claimed'::text])))
);

ALTER TABLE tenure.trigger_cursors OWNER TO tenure_owner;

--
-- Name: trigger_events; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.trigger_events (
    project text NOT NULL,
    trigger text NOT NULL,
    sequence integer NOT NULL,
    type text NOT NULL,
    actor text NOT NULL,
    at timestamp with time zone NOT NULL,
    payload jsonb NOT NULL
);

ALTER TABLE tenure.trigger_events OWNER TO tenure_owner;

--
-- Name: trigger_heads; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.trigger_heads (
    project text NOT NULL,
    trigger text NOT NULL,
    current_revision integer NOT NULL,
    state text DEFAULT 'active'::text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT trigger_heads_current_revision_check CHECK ((current_revision >= 1)),
    CONSTRAINT trigger_heads_state_check CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text, 'archived'::text])))
);

ALTER TABLE tenure.trigger_heads OWNER TO tenure_owner;

--
-- Name: trigger_revisions; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.trigger_revisions (
    project text NOT NULL,
    trigger text NOT NULL,
    revision integer NOT NULL,
    digest bytea NOT NULL,
    spec text NOT NULL,
    task text NOT NULL,
    task_revision integer NOT NULL,
    task_digest bytea NOT NULL,
    mutation_id uuid NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT trigger_revisions_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT trigger_revisions_revision_check CHECK ((revision >= 1)),
    CONSTRAINT trigger_revisions_task_digest_check CHECK ((octet_length(task_digest) = 32))
);

ALTER TABLE tenure.trigger_revisions OWNER TO tenure_owner;

--
-- Name: worker_credentials; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.worker_credentials (
    credential text NOT NULL,
    version integer NOT NULL,
    worker text NOT NULL,
    digest bytea NOT NULL,
    state text DEFAULT 'active'::text NOT NULL,
    not_before timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    request_id uuid NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    first_used_at timestamp with time zone,
    CONSTRAINT worker_credentials_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT worker_credentials_state_check CHECK ((state = ANY (ARRAY['active'::text, 'revoked'::text]))),
    CONSTRAINT worker_credentials_version_check CHECK ((version >= 1))
);

ALTER TABLE tenure.worker_credentials OWNER TO tenure_owner;

--
-- Name: worker_sessions; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.worker_sessions (
    session uuid NOT NULL,
    worker text NOT NULL,
    generation integer NOT NULL,
    status text NOT NULL,
    version integer NOT NULL,
    labels jsonb NOT NULL,
    executors text[] NOT NULL,
    handlers text[] NOT NULL,
    lease_limit integer NOT NULL,
    session_lease interval NOT NULL,
    agent text NOT NULL,
    classes integer[] NOT NULL,
    classes_seen integer NOT NULL,
    replaced_session uuid,
    registered_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    drain_requested_at timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT worker_sessions_lease_limit_check CHECK ((lease_limit >= 1)),
    CONSTRAINT worker_sessions_status_check CHECK ((status = ANY (ARRAY['online'::text, 'draining'::text, 'offline'::text, 'replaced'::text])))
)
WITH (fillfactor='70');

ALTER TABLE tenure.worker_sessions OWNER TO tenure_owner;

--
-- Name: workers; Type: TABLE; Schema: tenure; Owner: tenure_owner
--

CREATE TABLE tenure.workers (
    worker text NOT NULL,
    session_generation integer DEFAULT 0 NOT NULL,
    last_takeover_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE tenure.workers OWNER TO tenure_owner;

--
-- Name: attempt_declines attempt_declines_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.attempt_declines
    ADD CONSTRAINT attempt_declines_pkey PRIMARY KEY (attempt, session);

--
-- Name: attestations attestations_attempt_lease_generation_sequence_key; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.attestations
    ADD CONSTRAINT attestations_attempt_lease_generation_sequence_key UNIQUE (attempt, lease_generation, sequence);

--
-- Name: attestations attestations_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.attestations
    ADD CONSTRAINT attestations_pkey PRIMARY KEY (attestation);

--
-- Name: operator_tokens operator_tokens_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.operator_tokens
    ADD CONSTRAINT operator_tokens_pkey PRIMARY KEY (token);

--
-- Name: operators operators_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.operators
    ADD CONSTRAINT operators_pkey PRIMARY KEY (operator);

--
-- Name: placement_classes placement_classes_digest_key; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.placement_classes
    ADD CONSTRAINT placement_classes_digest_key UNIQUE (digest);

--
-- Name: placement_classes placement_classes_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.placement_classes
    ADD CONSTRAINT placement_classes_pkey PRIMARY KEY (class);

--
-- Name: project_shares project_shares_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.project_shares
    ADD CONSTRAINT project_shares_pkey PRIMARY KEY (priority, project);

--
-- Name: projects projects_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (project);

--
-- Name: recovery_controls recovery_controls_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.recovery_controls
    ADD CONSTRAINT recovery_controls_pkey PRIMARY KEY (attempt);

--
-- Name: role_bindings role_bindings_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.role_bindings
    ADD CONSTRAINT role_bindings_pkey PRIMARY KEY (operator, project);

--
-- Name: run_attempts run_attempts_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.run_attempts
    ADD CONSTRAINT run_attempts_pkey PRIMARY KEY (attempt);

--
-- Name: run_attempts run_attempts_run_number_key; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.run_attempts
    ADD CONSTRAINT run_attempts_run_number_key UNIQUE (run, number);

--
-- Name: run_events run_events_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.run_events
    ADD CONSTRAINT run_events_pkey PRIMARY KEY (run, sequence);

--
-- Name: run_events run_events_run_dedupe_key_key; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.run_events
    ADD CONSTRAINT run_events_run_dedupe_key_key UNIQUE (run, dedupe_key);

--
-- Name: run_leases run_leases_offer_key; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.run_leases
    ADD CONSTRAINT run_leases_offer_key UNIQUE (offer);

--
-- Name: run_leases run_leases_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.run_leases
    ADD CONSTRAINT run_leases_pkey PRIMARY KEY (attempt);

--
-- Name: run_retry_policies run_retry_policies_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.run_retry_policies
    ADD CONSTRAINT run_retry_policies_pkey PRIMARY KEY (run);

--
-- Name: runs runs_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (run);

--
-- Name: runs runs_project_idempotency_key_key; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.runs
    ADD CONSTRAINT runs_project_idempotency_key_key UNIQUE (project, idempotency_key);

--
-- Name: schema_migrations schema_migrations_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (id);

--
-- Name: security_audit_events security_audit_events_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.security_audit_events
    ADD CONSTRAINT security_audit_events_pkey PRIMARY KEY (event);

--
-- Name: spent_offers spent_offers_attempt_lease_generation_key; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.spent_offers
    ADD CONSTRAINT spent_offers_attempt_lease_generation_key UNIQUE (attempt, lease_generation);

--
-- Name: spent_offers spent_offers_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.spent_offers
    ADD CONSTRAINT spent_offers_pkey PRIMARY KEY (offer);

--
-- Name: task_heads task_heads_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.task_heads
    ADD CONSTRAINT task_heads_pkey PRIMARY KEY (project, task);

--
-- Name: task_revisions task_revisions_mutation_id_key; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.task_revisions
    ADD CONSTRAINT task_revisions_mutation_id_key UNIQUE (mutation_id);

--
-- Name: task_revisions task_revisions_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.task_revisions
    ADD CONSTRAINT task_revisions_pkey PRIMARY KEY (project, task, revision);

--
-- Name: trigger_cursors trigger_cursors_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.trigger_cursors
    ADD CONSTRAINT trigger_cursors_pkey PRIMARY KEY (project, trigger);

--
-- Name: trigger_events trigger_events_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.trigger_events
    ADD CONSTRAINT trigger_events_pkey PRIMARY KEY (project, trigger, sequence);

--
-- Name: trigger_heads trigger_heads_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.trigger_heads
    ADD CONSTRAINT trigger_heads_pkey PRIMARY KEY (project, trigger);

--
-- Name: trigger_revisions trigger_revisions_mutation_id_key; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.trigger_revisions
    ADD CONSTRAINT trigger_revisions_mutation_id_key UNIQUE (mutation_id);

--
-- Name: trigger_revisions trigger_revisions_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.trigger_revisions
    ADD CONSTRAINT trigger_revisions_pkey PRIMARY KEY (project, trigger, revision);

--
-- Name: worker_credentials worker_credentials_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.worker_credentials
    ADD CONSTRAINT worker_credentials_pkey PRIMARY KEY (credential, version);

--
-- Name: worker_credentials worker_credentials_request_id_key; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.worker_credentials
    ADD CONSTRAINT worker_credentials_request_id_key UNIQUE (request_id);

--
-- Name: worker_sessions worker_sessions_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.worker_sessions
    ADD CONSTRAINT worker_sessions_pkey PRIMARY KEY (session);

--
-- Name: worker_sessions worker_sessions_worker_generation_key; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.worker_sessions
    ADD CONSTRAINT worker_sessions_worker_generation_key UNIQUE (worker, generation);

--
-- Name: workers workers_pkey; Type: CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (worker);

--
-- Name: run_attempts_active; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE UNIQUE INDEX run_attempts_active ON tenure.run_attempts USING btree (run, step) NULLS NOT DISTINCT WHERE (status = ANY (ARRAY['claimed'::text, 'starting'::text, 'running'::text]));

--
-- Name: run_attempts_dispatchable; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX run_attempts_dispatchable ON tenure.run_attempts USING btree (class, priority DESC, fair_tag, ready_at, attempt) WHERE dispatchable;

--
-- Name: run_attempts_started; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX run_attempts_started ON tenure.run_attempts USING btree (attempt) WHERE (status = ANY (ARRAY['starting'::text, 'running'::text]));

--
-- Name: run_attempts_virtual_time; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX run_attempts_virtual_time ON tenure.run_attempts USING btree (priority, fair_tag) WHERE ((NOT dispatchable) AND (status = ANY (ARRAY['claimed'::text, 'starting'::text, 'running'::text])));

--
-- Name: run_leases_live; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX run_leases_live ON tenure.run_leases USING btree (attempt) WHERE (state = 'leased'::text);

--
-- Name: run_leases_of_session; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX run_leases_of_session ON tenure.run_leases USING btree (session) WHERE (state = 'leased'::text);

--
-- Name: runs_by_project; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX runs_by_project ON tenure.runs USING btree (project, run DESC);

--
-- Name: runs_cancel_requested; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX runs_cancel_requested ON tenure.runs USING btree (run) WHERE ((cancel_requested_at IS NOT NULL) AND (finished_at IS NULL));

--
-- Name: runs_lost; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX runs_lost ON tenure.runs USING btree (run) WHERE (status = 'lost'::text);

--
-- Name: runs_open_of_trigger; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX runs_open_of_trigger ON tenure.runs USING btree (project, trigger, run) WHERE ((trigger IS NOT NULL) AND (finished_at IS NULL));

--
-- Name: runs_open_workflows; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX runs_open_workflows ON tenure.runs USING btree (run) WHERE ((kind = 'workflow'::text) AND (finished_at IS NULL));

--
-- Name: runs_queued; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX runs_queued ON tenure.runs USING btree (run) WHERE (status = 'queued'::text);

--
-- Name: runs_retry_due; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX runs_retry_due ON tenure.runs USING btree (next_attempt_at, run) WHERE (status = 'retry_wait'::text);

--
-- Name: security_audit_events_refusals; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX security_audit_events_refusals ON tenure.security_audit_events USING btree (at) WHERE (action = 'authentication.refusals'::text);

--
-- Name: security_audit_events_request; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE UNIQUE INDEX security_audit_events_request ON tenure.security_audit_events USING btree (request_id) WHERE (request_id IS NOT NULL);

--
-- Name: trigger_cursors_due; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX trigger_cursors_due ON tenure.trigger_cursors USING btree (due_at, project, trigger) WHERE (due_at IS NOT NULL);

--
-- Name: trigger_cursors_observed; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX trigger_cursors_observed ON tenure.trigger_cursors USING btree (last_observed_at DESC, project, trigger) WHERE (due_at IS NOT NULL);

--
-- Name: worker_credentials_of_worker; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE INDEX worker_credentials_of_worker ON tenure.worker_credentials USING btree (worker);

--
-- Name: worker_sessions_current; Type: INDEX; Schema: tenure; Owner: tenure_owner
--

CREATE UNIQUE INDEX worker_sessions_current ON tenure.worker_sessions USING btree (worker) WHERE (status = ANY (ARRAY['online'::text, 'draining'::text, 'offline'::text]));

--
-- Name: run_attempts attempt_and_lease; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE CONSTRAINT TRIGGER attempt_and_lease AFTER INSERT OR UPDATE OF status, dispatchable ON tenure.run_attempts DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tenure.check_attempt_and_lease();

--
-- Name: run_attempts attempt_birth; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER attempt_birth BEFORE INSERT ON tenure.run_attempts FOR EACH ROW WHEN ((NOT (new.status = 'claimed'::text))) EXECUTE FUNCTION tenure.refuse_transition('attempt', 'status');

--
-- Name: run_attempts attempt_transition; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER attempt_transition BEFORE UPDATE OF status ON tenure.run_attempts FOR EACH ROW WHEN (((old.status <> new.status) AND (NOT
        CASE old.status
            WHEN 'claimed'::text THEN (new.status = ANY (ARRAY['cancelled'::text, 'failed'::text, 'starting'::text]))
            WHEN 'running'::text THEN (new.status = ANY (ARRAY['cancelled'::text, 'failed'::text, 'lost'::text, 'succeeded'::text, 'timed_out'::text]))
            WHEN 'starting'::text THEN (new.status = ANY (ARRAY['cancelled'::text, 'failed'::text, 'lost'::text, 'running'::text, 'succeeded'::text, 'timed_out'::text]))
            ELSE false
        END))) EXECUTE FUNCTION tenure.refuse_transition('attempt', 'status');

--
-- Name: attestations attestations_append_only; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER attestations_append_only BEFORE UPDATE ON tenure.attestations FOR EACH STATEMENT EXECUTE FUNCTION tenure.refuse_change();

--
-- Name: trigger_cursors cursor_birth; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER cursor_birth BEFORE INSERT ON tenure.trigger_cursors FOR EACH ROW WHEN ((NOT (new.state = 'idle'::text))) EXECUTE FUNCTION tenure.refuse_transition('cursor', 'state');

--
-- Name: trigger_cursors cursor_transition; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER cursor_transition BEFORE UPDATE OF state ON tenure.trigger_cursors FOR EACH ROW WHEN (((old.state <> new.state) AND (NOT
        CASE old.state
            WHEN 'claimed'::text THEN (new.state = ANY (ARRAY['claimed'::text, 'idle'::text]))
            WHEN 'idle'::text THEN (new.state = 'claimed'::text)
            ELSE false
        END))) EXECUTE FUNCTION tenure.refuse_transition('cursor', 'state');

--
-- Name: run_leases lease_and_attempt; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE CONSTRAINT TRIGGER lease_and_attempt AFTER INSERT OR UPDATE OF state ON tenure.run_leases DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tenure.check_attempt_and_lease();

--
-- Name: run_leases lease_birth; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER lease_birth BEFORE INSERT ON tenure.run_leases FOR EACH ROW WHEN ((NOT (new.state = 'leased'::text))) EXECUTE FUNCTION tenure.refuse_transition('lease', 'state');

--
-- Name: run_leases lease_transition; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER lease_transition BEFORE UPDATE OF state ON tenure.run_leases FOR EACH ROW WHEN (((old.state <> new.state) AND (NOT
        CASE old.state
            WHEN 'leased'::text THEN (new.state = ANY (ARRAY['completed'::text, 'leased'::text, 'released'::text]))
            WHEN 'released'::text THEN (new.state = 'leased'::text)
            ELSE false
        END))) EXECUTE FUNCTION tenure.refuse_transition('lease', 'state');

--
-- Name: recovery_controls recovery_birth; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER recovery_birth BEFORE INSERT ON tenure.recovery_controls FOR EACH ROW WHEN ((NOT (new.status = 'available'::text))) EXECUTE FUNCTION tenure.refuse_transition('recovery', 'status');

--
-- Name: recovery_controls recovery_transition; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER recovery_transition BEFORE UPDATE OF status ON tenure.recovery_controls FOR EACH ROW WHEN (((old.status <> new.status) AND (NOT
        CASE old.status
            WHEN 'available'::text THEN (new.status = 'claimed'::text)
            WHEN 'claimed'::text THEN (new.status = ANY (ARRAY['claimed'::text, 'manual'::text, 'resolved'::text, 'retry'::text]))
            WHEN 'manual'::text THEN (new.status = 'available'::text)
            WHEN 'resolved'::text THEN (new.status = 'claimed'::text)
            WHEN 'retry'::text THEN (new.status = 'claimed'::text)
            ELSE false
        END))) EXECUTE FUNCTION tenure.refuse_transition('recovery', 'status');

--
-- Name: runs run_birth; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER run_birth BEFORE INSERT ON tenure.runs FOR EACH ROW WHEN ((NOT (((new.kind = 'task'::text) AND (new.status = 'queued'::text)) OR ((new.kind = 'workflow'::text) AND (new.status = 'running'::text))))) EXECUTE FUNCTION tenure.refuse_transition('run', 'status');

--
-- Name: run_events run_events_append_only; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER run_events_append_only BEFORE UPDATE ON tenure.run_events FOR EACH STATEMENT EXECUTE FUNCTION tenure.refuse_change();

--
-- Name: runs run_transition; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER run_transition BEFORE UPDATE OF status ON tenure.runs FOR EACH ROW WHEN (((old.status <> new.status) AND (NOT (((new.kind = 'task'::text) AND
        CASE old.status
            WHEN 'dispatching'::text THEN (new.status = ANY (ARRAY['cancelled'::text, 'failed'::text, 'lost'::text, 'queued'::text, 'retry_wait'::text, 'running'::text, 'succeeded'::text, 'timed_out'::text]))
            WHEN 'lost'::text THEN (new.status = ANY (ARRAY['cancelled'::text, 'failed'::text, 'retry_wait'::text]))
            WHEN 'queued'::text THEN (new.status = ANY (ARRAY['cancelled'::text, 'dispatching'::text, 'failed'::text]))
            WHEN 'retry_wait'::text THEN (new.status = ANY (ARRAY['cancelled'::text, 'failed'::text, 'queued'::text]))
            WHEN 'running'::text THEN (new.status = ANY (ARRAY['cancelled'::text, 'failed'::text, 'lost'::text, 'retry_wait'::text, 'succeeded'::text, 'timed_out'::text]))
            ELSE false
        END) OR ((new.kind = 'workflow'::text) AND
        CASE old.status
            WHEN 'running'::text THEN (new.status = ANY (ARRAY['cancelled'::text, 'failed'::text, 'succeeded'::text, 'timed_out'::text]))
            ELSE false
        END))))) EXECUTE FUNCTION tenure.refuse_transition('run', 'status');

--
-- Name: worker_sessions session_birth; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER session_birth BEFORE INSERT ON tenure.worker_sessions FOR EACH ROW WHEN ((NOT (new.status = 'online'::text))) EXECUTE FUNCTION tenure.refuse_transition('session', 'status');

--
-- Name: worker_sessions session_transition; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER session_transition BEFORE UPDATE OF status ON tenure.worker_sessions FOR EACH ROW WHEN (((old.status <> new.status) AND (NOT
        CASE old.status
            WHEN 'draining'::text THEN (new.status = ANY (ARRAY['offline'::text, 'replaced'::text]))
            WHEN 'offline'::text THEN (new.status = 'replaced'::text)
            WHEN 'online'::text THEN (new.status = ANY (ARRAY['draining'::text, 'offline'::text, 'replaced'::text]))
            ELSE false
        END))) EXECUTE FUNCTION tenure.refuse_transition('session', 'status');

--
-- Name: task_revisions task_revisions_append_only; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER task_revisions_append_only BEFORE UPDATE ON tenure.task_revisions FOR EACH STATEMENT EXECUTE FUNCTION tenure.refuse_change();

--
-- Name: trigger_events trigger_events_append_only; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER trigger_events_append_only BEFORE UPDATE ON tenure.trigger_events FOR EACH STATEMENT EXECUTE FUNCTION tenure.refuse_change();

--
-- Name: trigger_revisions trigger_revisions_append_only; Type: TRIGGER; Schema: tenure; Owner: tenure_owner
--

CREATE TRIGGER trigger_revisions_append_only BEFORE UPDATE ON tenure.trigger_revisions FOR EACH STATEMENT EXECUTE FUNCTION tenure.refuse_change();

--
-- Name: attempt_declines attempt_declines_attempt_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.attempt_declines
    ADD CONSTRAINT attempt_declines_attempt_fkey FOREIGN KEY (attempt) REFERENCES tenure.run_attempts(attempt);

--
-- Name: attestations attestations_attempt_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.attestations
    ADD CONSTRAINT attestations_attempt_fkey FOREIGN KEY (attempt) REFERENCES tenure.run_attempts(attempt);

--
-- Name: operator_tokens operator_tokens_operator_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.operator_tokens
    ADD CONSTRAINT operator_tokens_operator_fkey FOREIGN KEY (operator) REFERENCES tenure.operators(operator);

--
-- Name: project_shares project_shares_project_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.project_shares
    ADD CONSTRAINT project_shares_project_fkey FOREIGN KEY (project) REFERENCES tenure.projects(project);

--
-- Name: recovery_controls recovery_controls_attempt_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.recovery_controls
    ADD CONSTRAINT recovery_controls_attempt_fkey FOREIGN KEY (attempt) REFERENCES tenure.run_attempts(attempt);

--
-- Name: role_bindings role_bindings_operator_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.role_bindings
    ADD CONSTRAINT role_bindings_operator_fkey FOREIGN KEY (operator) REFERENCES tenure.operators(operator);

--
-- Name: run_attempts run_attempts_class_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.run_attempts
    ADD CONSTRAINT run_attempts_class_fkey FOREIGN KEY (class) REFERENCES tenure.placement_classes(class);

--
-- Name: run_attempts run_attempts_run_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.run_attempts
    ADD CONSTRAINT run_attempts_run_fkey FOREIGN KEY (run) REFERENCES tenure.runs(run);

--
-- Name: run_events run_events_run_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.run_events
    ADD CONSTRAINT run_events_run_fkey FOREIGN KEY (run) REFERENCES tenure.runs(run);

--
-- Name: run_leases run_leases_attempt_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.run_leases
    ADD CONSTRAINT run_leases_attempt_fkey FOREIGN KEY (attempt) REFERENCES tenure.run_attempts(attempt);

--
-- Name: run_retry_policies run_retry_policies_run_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.run_retry_policies
    ADD CONSTRAINT run_retry_policies_run_fkey FOREIGN KEY (run) REFERENCES tenure.runs(run);

--
-- Name: runs runs_project_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.runs
    ADD CONSTRAINT runs_project_fkey FOREIGN KEY (project) REFERENCES tenure.projects(project);

--
-- Name: runs runs_project_task_task_revision_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.runs
    ADD CONSTRAINT runs_project_task_task_revision_fkey FOREIGN KEY (project, task, task_revision) REFERENCES tenure.task_revisions(project, task, revision);

--
-- Name: runs runs_rerun_of_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.runs
    ADD CONSTRAINT runs_rerun_of_fkey FOREIGN KEY (rerun_of) REFERENCES tenure.runs(run);

--
-- Name: spent_offers spent_offers_attempt_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.spent_offers
    ADD CONSTRAINT spent_offers_attempt_fkey FOREIGN KEY (attempt) REFERENCES tenure.run_attempts(attempt);

--
-- Name: task_heads task_heads_project_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.task_heads
    ADD CONSTRAINT task_heads_project_fkey FOREIGN KEY (project) REFERENCES tenure.projects(project);

--
-- Name: task_revisions task_revisions_class_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.task_revisions
    ADD CONSTRAINT task_revisions_class_fkey FOREIGN KEY (class) REFERENCES tenure.placement_classes(class);

--
-- Name: task_revisions task_revisions_project_task_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.task_revisions
    ADD CONSTRAINT task_revisions_project_task_fkey FOREIGN KEY (project, task) REFERENCES tenure.task_heads(project, task) DEFERRABLE INITIALLY DEFERRED;

--
-- Name: trigger_cursors trigger_cursors_project_trigger_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.trigger_cursors
    ADD CONSTRAINT trigger_cursors_project_trigger_fkey FOREIGN KEY (project, trigger) REFERENCES tenure.trigger_heads(project, trigger);

--
-- Name: trigger_cursors trigger_cursors_project_trigger_revision_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.trigger_cursors
    ADD CONSTRAINT trigger_cursors_project_trigger_revision_fkey FOREIGN KEY (project, trigger, revision) REFERENCES tenure.trigger_revisions(project, trigger, revision);

--
-- Name: trigger_events trigger_events_project_trigger_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.trigger_events
    ADD CONSTRAINT trigger_events_project_trigger_fkey FOREIGN KEY (project, trigger) REFERENCES tenure.trigger_heads(project, trigger);

--
-- Name: trigger_heads trigger_heads_project_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.trigger_heads
    ADD CONSTRAINT trigger_heads_project_fkey FOREIGN KEY (project) REFERENCES tenure.projects(project);

--
-- Name: trigger_revisions trigger_revisions_project_task_task_revision_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.trigger_revisions
    ADD CONSTRAINT trigger_revisions_project_task_task_revision_fkey FOREIGN KEY (project, task, task_revision) REFERENCES tenure.task_revisions(project, task, revision);

--
-- Name: trigger_revisions trigger_revisions_project_trigger_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.trigger_revisions
    ADD CONSTRAINT trigger_revisions_project_trigger_fkey FOREIGN KEY (project, trigger) REFERENCES tenure.trigger_heads(project, trigger) DEFERRABLE INITIALLY DEFERRED;

--
-- Name: worker_credentials worker_credentials_worker_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.worker_credentials
    ADD CONSTRAINT worker_credentials_worker_fkey FOREIGN KEY (worker) REFERENCES tenure.workers(worker);

--
-- Name: worker_sessions worker_sessions_worker_fkey; Type: FK CONSTRAINT; Schema: tenure; Owner: tenure_owner
--

ALTER TABLE ONLY tenure.worker_sessions
    ADD CONSTRAINT worker_sessions_worker_fkey FOREIGN KEY (worker) REFERENCES tenure.workers(worker);

--
-- Name: SCHEMA ingress_api; Type: ACL; Schema: -; Owner: tenure_owner
--

GRANT USAGE ON SCHEMA ingress_api TO tenure_ingress;

--
-- Name: SCHEMA tenure; Type: ACL; Schema: -; Owner: tenure_owner
--

GRANT USAGE ON SCHEMA tenure TO tenure_control;
GRANT USAGE ON SCHEMA tenure TO tenure_operator;

--
-- Name: FUNCTION attest_v1(p_credential text, p_secret bytea, p_session uuid, p_attestation uuid, p_attempt uuid, p_offer uuid, p_token bytea, p_lease_generation integer, p_sequence integer, p_state text, p_observed_at timestamp with time zone, p_scope text, p_executor_handle text, p_outcome text, p_content bytea, p_lease_s double precision, OUT refusal text, OUT last_sequence integer, OUT status text, OUT lease_version integer, OUT expires_at timestamp with time zone, OUT deadline_at timestamp with time zone, OUT stop_reason text, OUT stop_requested_at timestamp with time zone, OUT disposition text, OUT server_time timestamp with time zone); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.attest_v1(p_credential text, p_secret bytea, p_session uuid, p_attestation uuid, p_attempt uuid, p_offer uuid, p_token bytea, p_lease_generation integer, p_sequence integer, p_state text, p_observed_at timestamp with time zone, p_scope text, p_executor_handle text, p_outcome text, p_content bytea, p_lease_s double precision, OUT refusal text, OUT last_sequence integer, OUT status text, OUT lease_version integer, OUT expires_at timestamp with time zone, OUT deadline_at timestamp with time zone, OUT stop_reason text, OUT stop_requested_at timestamp with time zone, OUT disposition text, OUT server_time timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.attest_v1(p_credential text, p_secret bytea, p_session uuid, p_attestation uuid, p_attempt uuid, p_offer uuid, p_token bytea, p_lease_generation integer, p_sequence integer, p_state text, p_observed_at timestamp with time zone, p_scope text, p_executor_handle text, p_outcome text, p_content bytea, p_lease_s double precision, OUT refusal text, OUT last_sequence integer, OUT status text, OUT lease_version integer, OUT expires_at timestamp with time zone, OUT deadline_at timestamp with time zone, OUT stop_reason text, OUT stop_requested_at timestamp with time zone, OUT disposition text, OUT server_time timestamp with time zone) TO tenure_ingress;

--
-- Name: FUNCTION authenticate_v1(p_credential text, p_secret bytea, OUT refusal text); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.authenticate_v1(p_credential text, p_secret bytea, OUT refusal text) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.authenticate_v1(p_credential text, p_secret bytea, OUT refusal text) TO tenure_ingress;

--
-- Name: FUNCTION claim_offers_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_offers uuid[], p_tokens bytea[], p_lease_s double precision); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.claim_offers_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_offers uuid[], p_tokens bytea[], p_lease_s double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.claim_offers_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_offers uuid[], p_tokens bytea[], p_lease_s double precision) TO tenure_ingress;

--
-- Name: FUNCTION complete_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_outcomes text[], p_exit_codes bigint[], p_started_at timestamp with time zone[], p_finished_at timestamp with time zone[], p_outputs text[], p_output_flags text[], p_error_codes text[], p_error_messages text[], p_logs text[], p_stop_answers text[]); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.complete_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_outcomes text[], p_exit_codes bigint[], p_started_at timestamp with time zone[], p_finished_at timestamp with time zone[], p_outputs text[], p_output_flags text[], p_error_codes text[], p_error_messages text[], p_logs text[], p_stop_answers text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.complete_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_outcomes text[], p_exit_codes bigint[], p_started_at timestamp with time zone[], p_finished_at timestamp with time zone[], p_outputs text[], p_output_flags text[], p_error_codes text[], p_error_messages text[], p_logs text[], p_stop_answers text[]) TO tenure_ingress;

--
-- Name: FUNCTION decline_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_reason text); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.decline_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.decline_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_reason text) TO tenure_ingress;

--
-- Name: FUNCTION dispatchable_v1(p_limit integer); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.dispatchable_v1(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.dispatchable_v1(p_limit integer) TO tenure_ingress;

--
-- Name: FUNCTION drain_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.drain_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.drain_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone) TO tenure_ingress;

--
-- Name: FUNCTION heartbeat_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[]); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.heartbeat_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.heartbeat_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[]) TO tenure_ingress;

--
-- Name: FUNCTION held_leases_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.held_leases_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.held_leases_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer) TO tenure_ingress;

--
-- Name: FUNCTION offline_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.offline_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.offline_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone) TO tenure_ingress;

--
-- Name: FUNCTION record_refusals_v1(p_process uuid, p_report jsonb, OUT recorded boolean); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.record_refusals_v1(p_process uuid, p_report jsonb, OUT recorded boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.record_refusals_v1(p_process uuid, p_report jsonb, OUT recorded boolean) TO tenure_ingress;

--
-- Name: FUNCTION register_v1(p_credential text, p_secret bytea, p_session uuid, p_labels jsonb, p_executors text[], p_handlers text[], p_limit integer, p_session_lease_s double precision, p_takeover boolean, p_agent text, OUT refusal text, OUT detail jsonb, OUT worker text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT replaced_session uuid, OUT replaced_generation integer, OUT server_time timestamp with time zone); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.register_v1(p_credential text, p_secret bytea, p_session uuid, p_labels jsonb, p_executors text[], p_handlers text[], p_limit integer, p_session_lease_s double precision, p_takeover boolean, p_agent text, OUT refusal text, OUT detail jsonb, OUT worker text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT replaced_session uuid, OUT replaced_generation integer, OUT server_time timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.register_v1(p_credential text, p_secret bytea, p_session uuid, p_labels jsonb, p_executors text[], p_handlers text[], p_limit integer, p_session_lease_s double precision, p_takeover boolean, p_agent text, OUT refusal text, OUT detail jsonb, OUT worker text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT replaced_session uuid, OUT replaced_generation integer, OUT server_time timestamp with time zone) TO tenure_ingress;

--
-- Name: FUNCTION renew_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_requests integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_lease_s double precision); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.renew_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_requests integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_lease_s double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.renew_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_requests integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_lease_s double precision) TO tenure_ingress;

--
-- Name: FUNCTION running_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_handles text[], p_started_at timestamp with time zone[]); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.running_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_handles text[], p_started_at timestamp with time zone[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.running_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_handles text[], p_started_at timestamp with time zone[]) TO tenure_ingress;

--
-- Name: FUNCTION start_failure_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_error_codes text[], p_error_messages text[]); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.start_failure_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_error_codes text[], p_error_messages text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.start_failure_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[], p_error_codes text[], p_error_messages text[]) TO tenure_ingress;

--
-- Name: FUNCTION starting_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[]); Type: ACL; Schema: ingress_api; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION ingress_api.starting_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ingress_api.starting_v1(p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_contents bytea[]) TO tenure_ingress;

--
-- Name: FUNCTION acknowledgement(p_attempt uuid, OUT attempt_status text, OUT run_status text, OUT lease_version integer, OUT expires_at timestamp with time zone, OUT deadline_at timestamp with time zone, OUT stop_reason text, OUT stop_requested_at timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.acknowledgement(p_attempt uuid, OUT attempt_status text, OUT run_status text, OUT lease_version integer, OUT expires_at timestamp with time zone, OUT deadline_at timestamp with time zone, OUT stop_reason text, OUT stop_requested_at timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION admit_run(p_run uuid, p_attempt uuid, p_project text, p_task text, p_revision integer, p_cause text, p_trigger text, p_trigger_revision integer, p_scheduled_for timestamp with time zone, p_rerun_of uuid, p_idempotency_key text, p_requested_revision integer, p_requested_priority integer, p_plan text, p_plan_digest bytea, p_input jsonb, p_actor text, OUT run uuid, OUT created boolean, OUT refusal text); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.admit_run(p_run uuid, p_attempt uuid, p_project text, p_task text, p_revision integer, p_cause text, p_trigger text, p_trigger_revision integer, p_scheduled_for timestamp with time zone, p_rerun_of uuid, p_idempotency_key text, p_requested_revision integer, p_requested_priority integer, p_plan text, p_plan_digest bytea, p_input jsonb, p_actor text, OUT run uuid, OUT created boolean, OUT refusal text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.admit_run(p_run uuid, p_attempt uuid, p_project text, p_task text, p_revision integer, p_cause text, p_trigger text, p_trigger_revision integer, p_scheduled_for timestamp with time zone, p_rerun_of uuid, p_idempotency_key text, p_requested_revision integer, p_requested_priority integer, p_plan text, p_plan_digest bytea, p_input jsonb, p_actor text, OUT run uuid, OUT created boolean, OUT refusal text) TO tenure_control;
GRANT ALL ON FUNCTION tenure.admit_run(p_run uuid, p_attempt uuid, p_project text, p_task text, p_revision integer, p_cause text, p_trigger text, p_trigger_revision integer, p_scheduled_for timestamp with time zone, p_rerun_of uuid, p_idempotency_key text, p_requested_revision integer, p_requested_priority integer, p_plan text, p_plan_digest bytea, p_input jsonb, p_actor text, OUT run uuid, OUT created boolean, OUT refusal text) TO tenure_operator;

--
-- Name: FUNCTION adopt_lease(p_attempt uuid, p_session uuid, p_lease interval, p_now timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.adopt_lease(p_attempt uuid, p_session uuid, p_lease interval, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION attested(p_attempt uuid, p_lease_generation integer, p_worker text, OUT last_sequence integer, OUT stopped boolean, OUT stopped_by_worker boolean); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.attested(p_attempt uuid, p_lease_generation integer, p_worker text, OUT last_sequence integer, OUT stopped boolean, OUT stopped_by_worker boolean) FROM PUBLIC;

--
-- Name: FUNCTION authenticate_items(p_credentials text[], p_secrets bytea[]); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.authenticate_items(p_credentials text[], p_secrets bytea[]) FROM PUBLIC;

--
-- Name: FUNCTION authenticate_worker(p_credential text, p_secret bytea, p_now timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.authenticate_worker(p_credential text, p_secret bytea, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION check_attempt_and_lease(); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.check_attempt_and_lease() FROM PUBLIC;

--
-- Name: FUNCTION claim_attempts(p_session uuid, p_worker text, p_classes integer[], p_offers uuid[], p_tokens bytea[], p_lease interval); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.claim_attempts(p_session uuid, p_worker text, p_classes integer[], p_offers uuid[], p_tokens bytea[], p_lease interval) FROM PUBLIC;

--
-- Name: FUNCTION clock(); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.clock() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.clock() TO tenure_control;
GRANT ALL ON FUNCTION tenure.clock() TO tenure_operator;

--
-- Name: FUNCTION create_attempt(p_run uuid, p_attempt uuid, p_actor text, p_now timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.create_attempt(p_run uuid, p_attempt uuid, p_actor text, p_now timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.create_attempt(p_run uuid, p_attempt uuid, p_actor text, p_now timestamp with time zone) TO tenure_control;
GRANT ALL ON FUNCTION tenure.create_attempt(p_run uuid, p_attempt uuid, p_actor text, p_now timestamp with time zone) TO tenure_operator;

--
-- Name: FUNCTION cross_barrier(p_attempt uuid, p_worker text, p_now timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.cross_barrier(p_attempt uuid, p_worker text, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION end_attempt(p_attempt uuid, p_status text, p_exit_code bigint, p_started_at timestamp with time zone, p_finished_at timestamp with time zone, p_output jsonb, p_output_flag text, p_error_code text, p_error_message text, p_log jsonb, p_stop_answer text, p_content bytea, p_late boolean, p_worker text, p_now timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.end_attempt(p_attempt uuid, p_status text, p_exit_code bigint, p_started_at timestamp with time zone, p_finished_at timestamp with time zone, p_output jsonb, p_output_flag text, p_error_code text, p_error_message text, p_log jsonb, p_stop_answer text, p_content bytea, p_late boolean, p_worker text, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION fail_damaged_plan(p_attempt uuid, p_now timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.fail_damaged_plan(p_attempt uuid, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: TABLE run_leases; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.run_leases TO tenure_control;

--
-- Name: COLUMN run_leases.attempt; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(attempt) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.state; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(state) ON TABLE tenure.run_leases TO tenure_control;
GRANT SELECT(state) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.generation; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(generation) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.version; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(version) ON TABLE tenure.run_leases TO tenure_control;
GRANT SELECT(version) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.worker; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(worker) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.session; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(session) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.offer; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(offer) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.acquired_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(acquired_at) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.renewed_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(renewed_at) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.expires_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(expires_at) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.stop_reason; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(stop_reason),UPDATE(stop_reason) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.stop_requested_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(stop_requested_at),UPDATE(stop_requested_at) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.deadline_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(deadline_at) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.attested_state; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(attested_state) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.attested_sequence; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(attested_sequence) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.attested_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(attested_at) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: COLUMN run_leases.release_reason; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(release_reason) ON TABLE tenure.run_leases TO tenure_control;
GRANT SELECT(release_reason) ON TABLE tenure.run_leases TO tenure_operator;

--
-- Name: FUNCTION fence_refusal(l tenure.run_leases, p_worker text, p_offer uuid, p_token bytea, p_generation integer, p_version integer); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.fence_refusal(l tenure.run_leases, p_worker text, p_offer uuid, p_token bytea, p_generation integer, p_version integer) FROM PUBLIC;

--
-- Name: FUNCTION jsonb_or_null(p_text text); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.jsonb_or_null(p_text text) FROM PUBLIC;

--
-- Name: FUNCTION judge_acknowledgement(p_worker text, p_session uuid, p_generation integer, p_attempt uuid, p_offer uuid, p_token bytea, p_lease_generation integer, p_lease_version integer, p_ours uuid[], p_live boolean, OUT refusal text, OUT locked boolean, OUT lease tenure.run_leases); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.judge_acknowledgement(p_worker text, p_session uuid, p_generation integer, p_attempt uuid, p_offer uuid, p_token bytea, p_lease_generation integer, p_lease_version integer, p_ours uuid[], p_live boolean, OUT refusal text, OUT locked boolean, OUT lease tenure.run_leases) FROM PUBLIC;

--
-- Name: FUNCTION lock_attempts(p_attempts uuid[]); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.lock_attempts(p_attempts uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.lock_attempts(p_attempts uuid[]) TO tenure_control;

--
-- Name: FUNCTION lock_definitions(p_project text, p_task text, p_trigger text, OUT project_state text, OUT task_state text, OUT trigger_state text, OUT trigger_revision integer); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.lock_definitions(p_project text, p_task text, p_trigger text, OUT project_state text, OUT task_state text, OUT trigger_state text, OUT trigger_revision integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.lock_definitions(p_project text, p_task text, p_trigger text, OUT project_state text, OUT task_state text, OUT trigger_state text, OUT trigger_revision integer) TO tenure_control;
GRANT ALL ON FUNCTION tenure.lock_definitions(p_project text, p_task text, p_trigger text, OUT project_state text, OUT task_state text, OUT trigger_state text, OUT trigger_revision integer) TO tenure_operator;

--
-- Name: FUNCTION lock_dispatchable(p_session uuid, p_classes integer[], p_want integer, p_now timestamp with time zone, OUT taken uuid[], OUT first_seen uuid); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.lock_dispatchable(p_session uuid, p_classes integer[], p_want integer, p_now timestamp with time zone, OUT taken uuid[], OUT first_seen uuid) FROM PUBLIC;

--
-- Name: FUNCTION lock_items(p_attempts uuid[], p_workers text[]); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.lock_items(p_attempts uuid[], p_workers text[]) FROM PUBLIC;

--
-- Name: FUNCTION mark_running(p_attempt uuid, p_handle text, p_started_at timestamp with time zone, p_content bytea, p_worker text, p_now timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.mark_running(p_attempt uuid, p_handle text, p_started_at timestamp with time zone, p_content bytea, p_worker text, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION note_attestation(p_attempt uuid, p_state text, p_sequence integer, p_actor text, p_now timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.note_attestation(p_attempt uuid, p_state text, p_sequence integer, p_actor text, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION placement_class(p_digest bytea, p_placement jsonb); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.placement_class(p_digest bytea, p_placement jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.placement_class(p_digest bytea, p_placement jsonb) TO tenure_operator;

--
-- Name: FUNCTION placement_matches(p_placement jsonb, p_labels jsonb, p_executors text[], p_handlers text[]); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.placement_matches(p_placement jsonb, p_labels jsonb, p_executors text[], p_handlers text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.placement_matches(p_placement jsonb, p_labels jsonb, p_executors text[], p_handlers text[]) TO tenure_operator;

--
-- Name: FUNCTION record_first_use(p_credential text, p_version integer, p_worker text, p_now timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.record_first_use(p_credential text, p_version integer, p_worker text, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION record_late_callback(p_attempt uuid, p_call text, p_content bytea, p_worker text, p_payload jsonb, p_now timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.record_late_callback(p_attempt uuid, p_call text, p_content bytea, p_worker text, p_payload jsonb, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION refresh_classes(p_session uuid, OUT classes integer[], OUT classes_seen integer); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.refresh_classes(p_session uuid, OUT classes integer[], OUT classes_seen integer) FROM PUBLIC;

--
-- Name: FUNCTION refuse_change(); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.refuse_change() FROM PUBLIC;

--
-- Name: FUNCTION refuse_transition(); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.refuse_transition() FROM PUBLIC;

--
-- Name: FUNCTION reported_status(p_outcome text, p_cancelled boolean, p_stop_reason text, p_stop_answer text, p_error_code text, p_deadline_at timestamp with time zone, p_now timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.reported_status(p_outcome text, p_cancelled boolean, p_stop_reason text, p_stop_answer text, p_error_code text, p_deadline_at timestamp with time zone, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION retry_delay_us(p_run uuid, p_cause text, p_try integer, p_exit_code bigint); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.retry_delay_us(p_run uuid, p_cause text, p_try integer, p_exit_code bigint) FROM PUBLIC;

--
-- Name: FUNCTION return_to_queue(p_attempt uuid, p_reason text, p_actor text, p_now timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.return_to_queue(p_attempt uuid, p_reason text, p_actor text, p_now timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.return_to_queue(p_attempt uuid, p_reason text, p_actor text, p_now timestamp with time zone) TO tenure_control;

--
-- Name: FUNCTION return_unstarted(p_session uuid, p_reason text, p_actor text); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.return_unstarted(p_session uuid, p_reason text, p_actor text) FROM PUBLIC;

--
-- Name: FUNCTION session_refusal(p_session uuid, p_generation integer, p_worker text, p_live boolean); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.session_refusal(p_session uuid, p_generation integer, p_worker text, p_live boolean) FROM PUBLIC;

--
-- Name: FUNCTION stored_outcome(p_attempt uuid, OUT late boolean, OUT output_flag text, OUT attempt_status text, OUT run_status text); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.stored_outcome(p_attempt uuid, OUT late boolean, OUT output_flag text, OUT attempt_status text, OUT run_status text) FROM PUBLIC;

--
-- Name: FUNCTION take_fair_tag(p_project text, p_priority integer, p_class integer); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.take_fair_tag(p_project text, p_priority integer, p_class integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.take_fair_tag(p_project text, p_priority integer, p_class integer) TO tenure_control;
GRANT ALL ON FUNCTION tenure.take_fair_tag(p_project text, p_priority integer, p_class integer) TO tenure_operator;

--
-- Name: FUNCTION touch_session(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_to text, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.touch_session(p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_to text, OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamp with time zone, OUT drain_requested boolean, OUT server_time timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION wait_for_dispatchable(p_attempt uuid); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.wait_for_dispatchable(p_attempt uuid) FROM PUBLIC;

--
-- Name: FUNCTION was_given_back(p_attempt uuid, p_worker text, p_offer uuid, p_token bytea, p_lease_generation integer); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.was_given_back(p_attempt uuid, p_worker text, p_offer uuid, p_token bytea, p_lease_generation integer) FROM PUBLIC;

--
-- Name: FUNCTION was_offered(p_attempt uuid, p_worker text, p_offer uuid, p_token bytea, p_lease_generation integer); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.was_offered(p_attempt uuid, p_worker text, p_offer uuid, p_token bytea, p_lease_generation integer) FROM PUBLIC;

--
-- Name: FUNCTION work_for_others(p_classes integer[]); Type: ACL; Schema: tenure; Owner: tenure_owner
--

REVOKE ALL ON FUNCTION tenure.work_for_others(p_classes integer[]) FROM PUBLIC;

--
-- Name: TABLE attempt_declines; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.attempt_declines TO tenure_operator;

--
-- Name: TABLE operator_tokens; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.operator_tokens TO tenure_operator;

--
-- Name: TABLE operators; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.operators TO tenure_operator;

--
-- Name: TABLE placement_classes; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.placement_classes TO tenure_operator;

--
-- Name: TABLE project_shares; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.project_shares TO tenure_control;
GRANT SELECT,INSERT ON TABLE tenure.project_shares TO tenure_operator;

--
-- Name: COLUMN project_shares.next_fair_tag; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(next_fair_tag) ON TABLE tenure.project_shares TO tenure_control;
GRANT UPDATE(next_fair_tag) ON TABLE tenure.project_shares TO tenure_operator;

--
-- Name: TABLE projects; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.projects TO tenure_control;
GRANT SELECT,INSERT ON TABLE tenure.projects TO tenure_operator;

--
-- Name: COLUMN projects.state; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(state) ON TABLE tenure.projects TO tenure_operator;

--
-- Name: COLUMN projects.version; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(version) ON TABLE tenure.projects TO tenure_operator;

--
-- Name: COLUMN projects.weight; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(weight) ON TABLE tenure.projects TO tenure_operator;

--
-- Name: TABLE recovery_controls; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT,INSERT ON TABLE tenure.recovery_controls TO tenure_control;
GRANT SELECT ON TABLE tenure.recovery_controls TO tenure_operator;

--
-- Name: COLUMN recovery_controls.status; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(status) ON TABLE tenure.recovery_controls TO tenure_control;

--
-- Name: COLUMN recovery_controls.lease_generation; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(lease_generation) ON TABLE tenure.recovery_controls TO tenure_control;

--
-- Name: COLUMN recovery_controls.lease_version; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(lease_version) ON TABLE tenure.recovery_controls TO tenure_control;

--
-- Name: COLUMN recovery_controls.attested_sequence; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(attested_sequence) ON TABLE tenure.recovery_controls TO tenure_control;

--
-- Name: COLUMN recovery_controls.claim_owner; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(claim_owner) ON TABLE tenure.recovery_controls TO tenure_control;

--
-- Name: COLUMN recovery_controls.claim_token; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(claim_token) ON TABLE tenure.recovery_controls TO tenure_control;

--
-- Name: COLUMN recovery_controls.claim_version; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(claim_version) ON TABLE tenure.recovery_controls TO tenure_control;

--
-- Name: COLUMN recovery_controls.claim_expires_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(claim_expires_at) ON TABLE tenure.recovery_controls TO tenure_control;

--
-- Name: COLUMN recovery_controls.next_claim_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(next_claim_at) ON TABLE tenure.recovery_controls TO tenure_control;

--
-- Name: COLUMN recovery_controls.failure_count; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(failure_count) ON TABLE tenure.recovery_controls TO tenure_control;

--
-- Name: COLUMN recovery_controls.last_answer; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(last_answer) ON TABLE tenure.recovery_controls TO tenure_control;

--
-- Name: COLUMN recovery_controls.updated_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(updated_at) ON TABLE tenure.recovery_controls TO tenure_control;

--
-- Name: TABLE role_bindings; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.role_bindings TO tenure_operator;

--
-- Name: TABLE run_attempts; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT,INSERT ON TABLE tenure.run_attempts TO tenure_control;
GRANT SELECT,INSERT ON TABLE tenure.run_attempts TO tenure_operator;

--
-- Name: COLUMN run_attempts.status; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(status) ON TABLE tenure.run_attempts TO tenure_control;

--
-- Name: COLUMN run_attempts.dispatchable; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(dispatchable) ON TABLE tenure.run_attempts TO tenure_control;

--
-- Name: COLUMN run_attempts.ended_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(ended_at) ON TABLE tenure.run_attempts TO tenure_control;

--
-- Name: COLUMN run_attempts.error_code; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(error_code) ON TABLE tenure.run_attempts TO tenure_control;

--
-- Name: COLUMN run_attempts.error_message; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(error_message) ON TABLE tenure.run_attempts TO tenure_control;

--
-- Name: TABLE run_events; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT INSERT ON TABLE tenure.run_events TO tenure_control;
GRANT SELECT,INSERT ON TABLE tenure.run_events TO tenure_operator;

--
-- Name: TABLE run_retry_policies; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT,INSERT ON TABLE tenure.run_retry_policies TO tenure_control;
GRANT SELECT,INSERT ON TABLE tenure.run_retry_policies TO tenure_operator;

--
-- Name: TABLE runs; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT,INSERT ON TABLE tenure.runs TO tenure_control;
GRANT SELECT,INSERT ON TABLE tenure.runs TO tenure_operator;

--
-- Name: COLUMN runs.status; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(status) ON TABLE tenure.runs TO tenure_control;

--
-- Name: COLUMN runs.version; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(version) ON TABLE tenure.runs TO tenure_control;
GRANT UPDATE(version) ON TABLE tenure.runs TO tenure_operator;

--
-- Name: COLUMN runs.event_sequence; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(event_sequence) ON TABLE tenure.runs TO tenure_control;
GRANT UPDATE(event_sequence) ON TABLE tenure.runs TO tenure_operator;

--
-- Name: COLUMN runs.error_code; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(error_code) ON TABLE tenure.runs TO tenure_control;

--
-- Name: COLUMN runs.error_message; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(error_message) ON TABLE tenure.runs TO tenure_control;

--
-- Name: COLUMN runs.cancel_requested_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(cancel_requested_at) ON TABLE tenure.runs TO tenure_operator;

--
-- Name: COLUMN runs.cancel_reason; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(cancel_reason) ON TABLE tenure.runs TO tenure_operator;

--
-- Name: COLUMN runs.next_attempt_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(next_attempt_at) ON TABLE tenure.runs TO tenure_control;

--
-- Name: COLUMN runs.unstarted_claims; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(unstarted_claims) ON TABLE tenure.runs TO tenure_control;

--
-- Name: COLUMN runs.queued_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(queued_at) ON TABLE tenure.runs TO tenure_control;

--
-- Name: COLUMN runs.finished_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(finished_at) ON TABLE tenure.runs TO tenure_control;

--
-- Name: TABLE schema_migrations; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.schema_migrations TO tenure_control;
GRANT SELECT ON TABLE tenure.schema_migrations TO tenure_operator;

--
-- Name: TABLE security_audit_events; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT,INSERT ON TABLE tenure.security_audit_events TO tenure_operator;

--
-- Name: TABLE task_heads; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT,INSERT ON TABLE tenure.task_heads TO tenure_operator;

--
-- Name: COLUMN task_heads.current_revision; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(current_revision) ON TABLE tenure.task_heads TO tenure_operator;

--
-- Name: COLUMN task_heads.state; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(state) ON TABLE tenure.task_heads TO tenure_operator;

--
-- Name: COLUMN task_heads.version; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(version) ON TABLE tenure.task_heads TO tenure_operator;

--
-- Name: TABLE task_revisions; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.task_revisions TO tenure_control;
GRANT SELECT,INSERT ON TABLE tenure.task_revisions TO tenure_operator;

--
-- Name: TABLE trigger_cursors; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.trigger_cursors TO tenure_control;
GRANT SELECT,INSERT ON TABLE tenure.trigger_cursors TO tenure_operator;

--
-- Name: COLUMN trigger_cursors.revision; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(revision) ON TABLE tenure.trigger_cursors TO tenure_operator;

--
-- Name: COLUMN trigger_cursors.state; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(state) ON TABLE tenure.trigger_cursors TO tenure_control;
GRANT UPDATE(state) ON TABLE tenure.trigger_cursors TO tenure_operator;

--
-- Name: COLUMN trigger_cursors.state_version; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(state_version) ON TABLE tenure.trigger_cursors TO tenure_control;
GRANT UPDATE(state_version) ON TABLE tenure.trigger_cursors TO tenure_operator;

--
-- Name: COLUMN trigger_cursors.due_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(due_at) ON TABLE tenure.trigger_cursors TO tenure_control;
GRANT UPDATE(due_at) ON TABLE tenure.trigger_cursors TO tenure_operator;

--
-- Name: COLUMN trigger_cursors.next_fire_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(next_fire_at) ON TABLE tenure.trigger_cursors TO tenure_control;
GRANT UPDATE(next_fire_at) ON TABLE tenure.trigger_cursors TO tenure_operator;

--
-- Name: COLUMN trigger_cursors.last_fire_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(last_fire_at) ON TABLE tenure.trigger_cursors TO tenure_control;

--
-- Name: COLUMN trigger_cursors.last_observed_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(last_observed_at) ON TABLE tenure.trigger_cursors TO tenure_control;
GRANT UPDATE(last_observed_at) ON TABLE tenure.trigger_cursors TO tenure_operator;

--
-- Name: COLUMN trigger_cursors.last_decision; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(last_decision) ON TABLE tenure.trigger_cursors TO tenure_control;

--
-- Name: COLUMN trigger_cursors.event_sequence; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(event_sequence) ON TABLE tenure.trigger_cursors TO tenure_control;
GRANT UPDATE(event_sequence) ON TABLE tenure.trigger_cursors TO tenure_operator;

--
-- Name: COLUMN trigger_cursors.claim_owner; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(claim_owner) ON TABLE tenure.trigger_cursors TO tenure_control;
GRANT UPDATE(claim_owner) ON TABLE tenure.trigger_cursors TO tenure_operator;

--
-- Name: COLUMN trigger_cursors.claim_token; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(claim_token) ON TABLE tenure.trigger_cursors TO tenure_control;
GRANT UPDATE(claim_token) ON TABLE tenure.trigger_cursors TO tenure_operator;

--
-- Name: COLUMN trigger_cursors.claim_version; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(claim_version) ON TABLE tenure.trigger_cursors TO tenure_control;

--
-- Name: COLUMN trigger_cursors.claim_expires_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(claim_expires_at) ON TABLE tenure.trigger_cursors TO tenure_control;
GRANT UPDATE(claim_expires_at) ON TABLE tenure.trigger_cursors TO tenure_operator;

--
-- Name: TABLE trigger_events; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT INSERT ON TABLE tenure.trigger_events TO tenure_control;
GRANT SELECT,INSERT ON TABLE tenure.trigger_events TO tenure_operator;

--
-- Name: TABLE trigger_heads; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT,INSERT ON TABLE tenure.trigger_heads TO tenure_operator;

--
-- Name: COLUMN trigger_heads.current_revision; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(current_revision) ON TABLE tenure.trigger_heads TO tenure_operator;

--
-- Name: COLUMN trigger_heads.state; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(state) ON TABLE tenure.trigger_heads TO tenure_operator;

--
-- Name: COLUMN trigger_heads.version; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(version) ON TABLE tenure.trigger_heads TO tenure_operator;

--
-- Name: TABLE trigger_revisions; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.trigger_revisions TO tenure_control;
GRANT SELECT,INSERT ON TABLE tenure.trigger_revisions TO tenure_operator;

--
-- Name: TABLE worker_credentials; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT INSERT ON TABLE tenure.worker_credentials TO tenure_operator;

--
-- Name: COLUMN worker_credentials.credential; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(credential) ON TABLE tenure.worker_credentials TO tenure_operator;

--
-- Name: COLUMN worker_credentials.version; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(version) ON TABLE tenure.worker_credentials TO tenure_operator;

--
-- Name: COLUMN worker_credentials.worker; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(worker) ON TABLE tenure.worker_credentials TO tenure_operator;

--
-- Name: COLUMN worker_credentials.state; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(state),UPDATE(state) ON TABLE tenure.worker_credentials TO tenure_operator;

--
-- Name: COLUMN worker_credentials.not_before; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(not_before) ON TABLE tenure.worker_credentials TO tenure_operator;

--
-- Name: COLUMN worker_credentials.expires_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(expires_at) ON TABLE tenure.worker_credentials TO tenure_operator;

--
-- Name: COLUMN worker_credentials.request_id; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(request_id) ON TABLE tenure.worker_credentials TO tenure_operator;

--
-- Name: COLUMN worker_credentials.created_by; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(created_by) ON TABLE tenure.worker_credentials TO tenure_operator;

--
-- Name: COLUMN worker_credentials.created_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(created_at) ON TABLE tenure.worker_credentials TO tenure_operator;

--
-- Name: COLUMN worker_credentials.first_used_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT(first_used_at) ON TABLE tenure.worker_credentials TO tenure_operator;

--
-- Name: TABLE worker_sessions; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT ON TABLE tenure.worker_sessions TO tenure_operator;

--
-- Name: COLUMN worker_sessions.drain_requested_at; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT UPDATE(drain_requested_at) ON TABLE tenure.worker_sessions TO tenure_operator;

--
-- Name: TABLE workers; Type: ACL; Schema: tenure; Owner: tenure_owner
--

GRANT SELECT,INSERT ON TABLE tenure.workers TO tenure_operator;

--
-- Name: DEFAULT PRIVILEGES FOR FUNCTIONS; Type: DEFAULT ACL; Schema: -; Owner: tenure_owner
--

ALTER DEFAULT PRIVILEGES FOR ROLE tenure_owner REVOKE ALL ON FUNCTIONS FROM PUBLIC;

--
-- PostgreSQL database dump complete
--
