-- Renewal: the hottest write of the system. Many requests and up to 256 leases in one call; lease rows only, locked
-- in key order in a statement of their own (a locking CTE joined to the arrays costs five times as much under generic
-- plans), and leaving out what is locked elsewhere: that item alone is tried again.
--
-- An expired but unreleased lease with an intact fence is renewed (`late`): expiry only lets others investigate, and
-- every decision to take a lease away compares its version. A passed deadline becomes the stop `timeout` right here,
-- on the row that is held anyway.
CREATE FUNCTION ingress_api.renew_v1(
    p_credentials text[], p_secrets bytea[], p_sessions uuid[], p_generations integer[],    -- one element per request
    p_requests integer[], p_attempts uuid[], p_offers uuid[], p_tokens bytea[], p_lease_generations integer[],
    p_lease_versions integer[],                                                             -- one element per lease
    p_lease_s double precision)
RETURNS TABLE (
    ord integer, locked boolean, refusal text, status text, lease_version integer, expires_at timestamptz,
    late boolean, stop_reason text, stop_requested_at timestamptz, terminal text, disposition text,
    drain_requested boolean, server_time timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
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

GRANT EXECUTE ON FUNCTION ingress_api.renew_v1(
    text[], bytea[], uuid[], integer[], integer[], uuid[], uuid[], bytea[], integer[], integer[], double precision)
    TO tenure_ingress;
