-- Heartbeat, drain and offline: idempotent by effect.

-- Extends many sessions in one call; one row comes back per item, and no item affects another. No session may be named
-- twice. A session that is locked elsewhere is left out and to be asked for again: whoever holds it is extending it
-- anyway, or ending it. Only sessions that the caller's worker owns are locked, in key order.
CREATE FUNCTION ingress_api.heartbeat_v1(
    p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[])
RETURNS TABLE (
    ord integer, locked boolean, refusal text, generation integer, version integer, status text,
    expires_at timestamptz, drain_requested boolean, server_time timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
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

-- One session, extended, and the transition made. p_to: draining or offline.
CREATE FUNCTION tenure.touch_session(
    p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_to text,
    OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamptz,
    OUT drain_requested boolean, OUT server_time timestamptz)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
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

CREATE FUNCTION ingress_api.drain_v1(
    p_credential text, p_secret bytea, p_session uuid, p_generation integer,
    OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamptz,
    OUT drain_requested boolean, OUT server_time timestamptz)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM tenure.touch_session(p_credential, p_secret, p_session, p_generation, 'draining') $$;

CREATE FUNCTION ingress_api.offline_v1(
    p_credential text, p_secret bytea, p_session uuid, p_generation integer,
    OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamptz,
    OUT drain_requested boolean, OUT server_time timestamptz)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM tenure.touch_session(p_credential, p_secret, p_session, p_generation, 'offline') $$;

GRANT EXECUTE ON FUNCTION
    ingress_api.heartbeat_v1(text[], bytea[], uuid[], integer[]),
    ingress_api.drain_v1(text, bytea, uuid, integer),
    ingress_api.offline_v1(text, bytea, uuid, integer) TO tenure_ingress;
