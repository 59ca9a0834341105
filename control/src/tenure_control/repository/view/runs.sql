-- Runs as they are shown: some by id ($2), or a page of a project, newest first, with filters. What needs attention
-- is found here, from the same snapshot: started work whose lease ran out, work that many sessions declined, work
-- that no live session may execute.
WITH page AS (
    SELECT r.* FROM tenure.runs r
    WHERE r.project = $1::text
      AND r.run = ANY (coalesce($2::uuid[], ARRAY(
          SELECT p.run FROM tenure.runs p
          WHERE p.project = $1::text
            AND p.run < coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
            AND ($4::text IS NULL OR p.status = $4::text)
            AND ($5::text IS NULL OR p.task = $5::text)
            AND ($6::text IS NULL OR p.trigger = $6::text)
            AND ($7::timestamptz IS NULL OR p.created_at >= $7::timestamptz)
          ORDER BY p.run DESC
          LIMIT $8::int)))
), active AS (
    SELECT a.run, a.attempt, a.class, a.dispatchable, a.status IN ('starting', 'running') AS started,
           coalesce(l.state = 'leased' AND l.expires_at > (SELECT tenure.clock()), false) AS held, l.expires_at
    FROM page
    JOIN tenure.run_attempts a ON a.run = page.run AND a.status IN ('claimed', 'starting', 'running')
    LEFT JOIN tenure.run_leases l ON l.attempt = a.attempt
    WHERE page.finished_at IS NULL
), waiting AS (
    SELECT a.run, d.declines[8] AS declined_since,
           NOT EXISTS (
               SELECT FROM tenure.worker_sessions s
               WHERE s.status = 'online' AND s.expires_at > (SELECT tenure.clock())
                 AND (a.class = ANY (s.classes)
                      OR a.class > s.classes_seen
                         AND tenure.placement_matches(c.placement, s.labels, s.executors, s.handlers))) AS unmatched
    FROM active a
    JOIN tenure.placement_classes c ON c.class = a.class
    CROSS JOIN LATERAL (
        SELECT array_agg(x.declined_at ORDER BY x.declined_at) AS declines
        FROM tenure.attempt_declines x WHERE x.attempt = a.attempt) d
    WHERE a.dispatchable
)
SELECT r.run, r.project, r.kind, r.task, r.task_revision AS revision, r.status, r.version,
       (SELECT count(*)::int FROM tenure.run_attempts n WHERE n.run = r.run) AS attempts,
       r.priority, r.cause, r.trigger, r.scheduled_for, r.rerun_of, r.created_at, r.queued_at, r.started_at,
       r.finished_at, r.cancel_reason, r.cancel_requested_at, r.error_code, r.error_message,
       r.input::text AS input, r.output::text AS output, r.output_flag,
       CASE
           WHEN a.started AND NOT a.held THEN 'waiting_for_evidence'
           WHEN w.declined_since IS NOT NULL THEN 'declined'
           WHEN w.unmatched THEN 'no_worker_matches'
       END AS attention,
       CASE
           WHEN a.started AND NOT a.held THEN a.expires_at
           WHEN w.declined_since IS NOT NULL THEN w.declined_since
           WHEN w.unmatched THEN r.queued_at
       END AS attention_since
FROM page r
LEFT JOIN active a ON a.run = r.run
LEFT JOIN waiting w ON w.run = r.run
ORDER BY r.run DESC
