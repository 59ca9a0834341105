-- Rules that more than one caller needs, once. They run with the rights of whoever calls them: the owner inside
-- ingress_api functions, tenure_control and tenure_operator from their own units of work.

-- Notes that a version of a credential was used, and audits it: once, whatever comes first and how many calls at the
-- same time. It waits for nobody (calls that lock sessions and runs come through here, in batches of no order): whoever
-- holds the row is writing the same, or is an operator after whom the next call does.
CREATE FUNCTION tenure.record_first_use(p_credential text, p_version integer, p_worker text, p_now timestamptz)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- The worker a credential belongs to, or NULL. Unknown, wrong, revoked, expired and not yet valid are one answer, by
-- one path. Only the newest version of a credential counts: rotation ends the older secret at once, and the end of a
-- newer version brings no older one back.
--
-- The comparison need not take constant time. What is compared is the SHA-256 of a secret of 256 random bits: how many
-- bytes of a digest were right tells nothing about the secret, and nobody can choose a secret for its digest.
CREATE FUNCTION tenure.authenticate_worker(p_credential text, p_secret bytea, p_now timestamptz) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- Does a session with these properties match a compiled placement? The contracts package decides the same in Python.
CREATE FUNCTION tenure.placement_matches(p_placement jsonb, p_labels jsonb, p_executors text[], p_handlers text[])
RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
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

-- Start-time fair queueing (Goyal, Vin and Cheng 1996): an attempt is tagged with the moment of virtual time at which
-- it may start, which is now or when its project has had its turn, whichever is later. So a project that floods the
-- queue waits behind itself, one that rested gains nothing, and one that comes with a single attempt is at most one
-- attempt of each other project away from its turn. (The tag is the start of the turn and not its end: by the end, the
-- newcomer would wait for two.)
--
-- Now is the smallest tag that waits in the same class, because its attempts compete for the same sessions. In an empty
-- class it is the greatest tag in service, as the theory says; and when nothing is, the greatest next tag of all
-- projects. What waits in other classes does not tell the time: work that no session matches would stop the clock,
-- and a project that rested meanwhile would then stand before all others with as much as it likes.
--
-- Locks the project's share, the last but one level of the lock order.
CREATE FUNCTION tenure.take_fair_tag(p_project text, p_priority integer, p_class integer) RETURNS double precision
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- Makes one fresh, dispatchable attempt of a queued task run, with its event. The caller holds the run lock and has
-- made sure that no attempt is active. Nothing of an earlier attempt is inherited.
CREATE FUNCTION tenure.create_attempt(p_run uuid, p_attempt uuid, p_actor text, p_now timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- Locks a project, one of its tasks and one of its triggers (NULL: none) FOR SHARE, in the lock order, and tells their
-- states: whoever archives them waits for us, or is seen. It runs as the owner, because PostgreSQL asks for a right to
-- update before it lets a role lock, and control must not be able to write a definition.
CREATE FUNCTION tenure.lock_definitions(
    p_project text, p_task text, p_trigger text,
    OUT project_state text, OUT task_state text, OUT trigger_state text, OUT trigger_revision integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    SELECT p.state INTO project_state FROM tenure.projects p WHERE p.project = p_project FOR SHARE;
    SELECT h.state INTO task_state FROM tenure.task_heads h
    WHERE h.project = p_project AND h.task = p_task FOR SHARE;
    SELECT h.state, h.current_revision INTO trigger_state, trigger_revision FROM tenure.trigger_heads h
    WHERE h.project = p_project AND h.trigger = p_trigger FOR SHARE;
END
$$;

-- The class of a compiled placement, made on first use. The table lock makes class numbers visible in their own
-- order: see placement_classes. It runs as the owner for the right to take that lock.
CREATE FUNCTION tenure.placement_class(p_digest bytea, p_placement jsonb) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
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

-- Admits one task run together with its policy, its first attempt and their events, or returns the run that the same
-- idempotency key admitted before. Locks the project and the task head FOR SHARE: archiving waits for us or is seen.
--
-- refusal: project_archived, task_archived, unknown_task, or content_conflict (same key, other content).
CREATE FUNCTION tenure.admit_run(
    p_run uuid, p_attempt uuid, p_project text, p_task text, p_revision integer, p_cause text,
    p_trigger text, p_trigger_revision integer, p_scheduled_for timestamptz, p_rerun_of uuid,
    p_idempotency_key text, p_requested_revision integer, p_requested_priority integer,
    p_plan text, p_plan_digest bytea, p_input jsonb, p_actor text,
    OUT run uuid, OUT created boolean, OUT refusal text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- Locks run, attempt and lease of each attempt, level by level and each level in key order, leaving out what is
-- locked elsewhere. Returns the attempts whose three rows are now ours.
CREATE FUNCTION tenure.lock_attempts(p_attempts uuid[]) RETURNS uuid[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- Ends an unstarted lease and returns its work to the queue: nothing started, so nothing is spent and no policy is
-- asked. After 16 claims that expired or were declined the run fails `never_started`, because something about it
-- keeps workers from ever starting it; one that is to be cancelled is left to that. The caller holds run, attempt and
-- lease, and has checked that the attempt is `claimed` and its lease `leased`.
--
-- p_reason: declined, shutdown, lease_expired, or superseded. Returns the run's new status.
CREATE FUNCTION tenure.return_to_queue(p_attempt uuid, p_reason text, p_actor text, p_now timestamptz) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- Returns every unstarted lease of one session to the queue. The caller holds the session lock. Runs, attempts and
-- leases are locked here, level by level; what is no longer unstarted after the wait is left alone.
CREATE FUNCTION tenure.return_unstarted(p_session uuid, p_reason text, p_actor text) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- The wait before the next try, or NULL when the run may not be tried again. The contracts package decides the same
-- from the same compiled policy; this copy exists because a completion settles the run in its own transaction.
--
-- p_cause: failed or timed_out. p_try: the try that just ended, from 1.
CREATE FUNCTION tenure.retry_delay_us(p_run uuid, p_cause text, p_try integer, p_exit_code bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
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

-- JSON text as jsonb, or NULL when PostgreSQL cannot store it: a completion is never refused for its payload.
CREATE FUNCTION tenure.jsonb_or_null(p_text text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN p_text::jsonb;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END
$$;

-- Keeps what a holder said about an attempt that had ended already: once per distinct content, at most 8 per attempt.
-- It changes nothing else. The caller holds the run lock.
CREATE FUNCTION tenure.record_late_callback(
    p_attempt uuid, p_call text, p_content bytea, p_worker text, p_payload jsonb, p_now timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- Ends a started attempt as its holder reported, ends its lease and moves the run on: to retry_wait while the pinned
-- policy allows another try, otherwise to the same terminal status. The caller holds run, attempt and lease and has
-- judged the fence. Reported times are clamped to what the database knows. Returns the run's new status.
CREATE FUNCTION tenure.end_attempt(
    p_attempt uuid, p_status text, p_exit_code bigint, p_started_at timestamptz, p_finished_at timestamptz,
    p_output jsonb, p_output_flag text, p_error_code text, p_error_message text, p_log jsonb, p_stop_answer text,
    p_content bytea, p_late boolean, p_worker text, p_now timestamptz) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

-- Is the caller who it says it is? Sessions are compared whole (id, worker, generation). p_live: the call needs a
-- session that is neither replaced nor offline; expiry only lets others replace it.
CREATE FUNCTION tenure.session_refusal(p_session uuid, p_generation integer, p_worker text, p_live boolean)
RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN EXISTS (
        SELECT FROM tenure.worker_sessions s
        WHERE s.session = p_session AND s.worker = p_worker AND s.generation = p_generation
          AND (NOT p_live OR s.status IN ('online', 'draining')))
    THEN NULL ELSE 'session_fenced' END
$$;

-- Does this lease carry the presented fence? A holder may send any version up to the stored one. What exactly
-- differed is never told: it may be somebody else's lease. NULL is no proof: it differs from everything.
-- Without a search_path of its own, which its callers have: so a statement over many leases has it inlined instead
-- of called, which makes a renewal a quarter cheaper.
CREATE FUNCTION tenure.fence_refusal(
    l tenure.run_leases, p_worker text, p_offer uuid, p_token bytea, p_generation integer, p_version integer)
RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE
        WHEN l.attempt IS NULL
          OR (l.worker, l.offer, l.token_digest, l.generation)
             IS DISTINCT FROM (p_worker, p_offer, p_token, p_generation) THEN 'lease_fenced'
        WHEN (p_version <= l.version) IS NOT TRUE THEN 'invalid_field'
    END
$$;

-- The placement classes that a session matches, with those added that appeared since it last looked, and the greatest
-- class that was looked at. The caller holds the session lock.
CREATE FUNCTION tenure.refresh_classes(p_session uuid, OUT classes integer[], OUT classes_seen integer)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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
