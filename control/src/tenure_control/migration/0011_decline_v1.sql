-- Was this generation given back by its holder? The spent offer proves the holder. The lease row tells how its newest
-- generation ended, also when that made the run fail; how an earlier one ended is told by the run's events.
CREATE FUNCTION tenure.was_given_back(
    p_attempt uuid, p_worker text, p_offer uuid, p_token bytea, p_lease_generation integer) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
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

-- Gives unstarted leases back: they are in the queue at once for others, and not offered to the same session for 30 s
-- (unless the worker only shuts down). No attempt is spent. Anything that is not exactly an unstarted lease of this
-- session is `fenced`, except that repeating a decline is answered `released` again.
--
-- Row 0 carries the refusal of the whole call, if any; one further row per lease.
CREATE FUNCTION ingress_api.decline_v1(
    p_credential text, p_secret bytea, p_session uuid, p_generation integer, p_attempts uuid[], p_offers uuid[],
    p_tokens bytea[], p_lease_generations integer[], p_lease_versions integer[], p_reason text)
RETURNS TABLE (ord integer, refusal text, attempt uuid, status text, server_time timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
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

GRANT EXECUTE ON FUNCTION ingress_api.decline_v1(
    text, bytea, uuid, integer, uuid[], uuid[], bytea[], integer[], integer[], text) TO tenure_ingress;
