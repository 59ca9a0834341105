-- What a session holds, for a worker whose journal is damaged. Tokens are never told: the database does not know them.
--
-- Row 0 carries the refusal, if any; one further row per lease.
CREATE FUNCTION ingress_api.held_leases_v1(p_credential text, p_secret bytea, p_session uuid, p_generation integer)
RETURNS TABLE (
    ord integer, refusal text, attempt uuid, run uuid, offer uuid, lease_generation integer, lease_version integer,
    status text, expires_at timestamptz, stop_reason text, stop_requested_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
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

GRANT EXECUTE ON FUNCTION ingress_api.held_leases_v1(text, bytea, uuid, integer) TO tenure_ingress;
