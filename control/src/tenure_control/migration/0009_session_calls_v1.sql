-- Heartbeat, drain and offline: idempotent by effect.

-- One session, extended; the transition asked for, if any, made. p_to: NULL (heartbeat), draining, or offline.
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
    target text;
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
       OR (s.status = 'offline' AND p_to IS DISTINCT FROM 'offline') THEN
        refusal := 'session_fenced';
        RETURN;
    END IF;

    target := coalesce(p_to, s.status);
    UPDATE tenure.worker_sessions x
    SET status = target,
        version = x.version + CASE WHEN target <> s.status THEN 1 ELSE 0 END,
        seen_at = greatest(x.seen_at, server_time),
        expires_at = CASE WHEN target = 'offline' THEN x.expires_at
                          ELSE greatest(x.expires_at, server_time + x.session_lease) END,
        ended_at = CASE WHEN target = 'offline' THEN coalesce(x.ended_at, server_time) END
    WHERE x.session = p_session
    RETURNING x.* INTO s;
    IF target = 'offline' THEN
        PERFORM tenure.return_unstarted(p_session, 'shutdown', 'worker:' || w);
    END IF;
    generation := s.generation;
    version := s.version;
    status := s.status;
    expires_at := s.expires_at;
    drain_requested := s.drain_requested_at IS NOT NULL;
END
$$;

CREATE FUNCTION ingress_api.heartbeat_v1(
    p_credential text, p_secret bytea, p_session uuid, p_generation integer,
    OUT refusal text, OUT generation integer, OUT version integer, OUT status text, OUT expires_at timestamptz,
    OUT drain_requested boolean, OUT server_time timestamptz)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM tenure.touch_session(p_credential, p_secret, p_session, p_generation, NULL) $$;

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
    ingress_api.heartbeat_v1(text, bytea, uuid, integer),
    ingress_api.drain_v1(text, bytea, uuid, integer),
    ingress_api.offline_v1(text, bytea, uuid, integer) TO tenure_ingress;
