-- Creates or replays a session. It replaces the worker's current session when that one is offline, draining or
-- expired, or on request (takeover), but not a second time within 60 s: two machines with one name must not kill each
-- other for ever. Unstarted leases of the replaced session return to the queue; its started ones expire at once, so
-- that recovery looks at them.
CREATE FUNCTION ingress_api.register_v1(
    p_credential text, p_secret bytea, p_session uuid, p_labels jsonb, p_executors text[], p_handlers text[],
    p_limit integer, p_session_lease_s double precision, p_takeover boolean, p_agent text,
    OUT refusal text, OUT detail jsonb, OUT worker text, OUT generation integer, OUT version integer,
    OUT status text, OUT expires_at timestamptz, OUT replaced_session uuid, OUT replaced_generation integer,
    OUT server_time timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
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

GRANT EXECUTE ON FUNCTION ingress_api.register_v1(
    text, bytea, uuid, jsonb, text[], text[], integer, double precision, boolean, text) TO tenure_ingress;
