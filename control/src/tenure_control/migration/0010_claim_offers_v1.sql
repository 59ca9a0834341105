-- The pull.

-- Ends a queued run whose stored plan no longer matches its digest: it must not be executed, and it never started.
CREATE FUNCTION tenure.fail_damaged_plan(p_attempt uuid, p_now timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- Picks and locks up to p_want dispatchable attempts of the given classes, best first: by priority, then fair tag,
-- then age. Each round reads the head of every class by index, wider each time, and locks run and attempt in one
-- statement without waiting. What this transaction took already is excluded by name: SKIP LOCKED does not skip one's
-- own locks. p_seen tells whether there were candidates at all, so that "all locked" is not taken for "no work".
CREATE FUNCTION tenure.lock_dispatchable(
    p_session uuid, p_classes integer[], p_want integer, p_now timestamptz, OUT taken uuid[], OUT first_seen uuid)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- Waits for one attempt whose rows somebody else holds, run before attempt, no longer than lock_timeout. Returns it
-- when it is still dispatchable afterwards, else an empty array.
CREATE FUNCTION tenure.wait_for_dispatchable(p_attempt uuid) RETURNS uuid[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- Claims what a session can have. The caller holds the session lock and has checked capacity: at most one attempt
-- per offer. Returns how many were claimed.
CREATE FUNCTION tenure.claim_attempts(
    p_session uuid, p_worker text, p_classes integer[], p_offers uuid[], p_tokens bytea[], p_lease interval)
RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- Is anything dispatchable outside these classes? Goes from class to class in the index, so that the answer costs as
-- much as there are classes with work, however long their queues are.
CREATE FUNCTION tenure.work_for_others(p_classes integer[]) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
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

-- Answers a pull. Row 0 sums up: the refusal, or why nothing more came, and which placement classes the session matches
-- among all up to `classes_seen`, so that a pull that waits is woken for those and for newer ones. One further row per
-- answered offer, rebuilt from what is stored, so a repeated pull and a first one are answered alike: unstarted work is
-- the same offer again, started work is `recovered` without permission to spawn, anything else is `settled`. An offer
-- that is not answered stays usable; one that was answered never claims anew.
CREATE FUNCTION ingress_api.claim_offers_v1(
    p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_offers uuid[], p_tokens bytea[],
    p_lease_s double precision)
RETURNS TABLE (
    ord integer, refusal text, none_reason text, classes integer[], classes_seen integer, drain_requested boolean,
    server_time timestamptz, offer uuid, outcome text, spawn boolean, attempt uuid, run uuid, project text, task text,
    revision integer, digest bytea, number integer, try integer, step text, priority integer, attempt_status text,
    deadline_at timestamptz, lease_generation integer, lease_version integer, acquired_at timestamptz,
    expires_at timestamptz, plan text, input text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
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

GRANT EXECUTE ON FUNCTION ingress_api.claim_offers_v1(
    text, bytea, uuid, integer, uuid[], bytea[], double precision) TO tenure_ingress;
