-- retry_wait to queued, with its event. $3: now; $4: how many attempts there were before.
WITH moved AS (
    UPDATE tenure.runs r
    SET status = 'queued', next_attempt_at = NULL, queued_at = $3::timestamptz,
        version = r.version + 1, event_sequence = r.event_sequence + 1
    WHERE r.run = $1::uuid AND r.status = 'retry_wait'
    RETURNING r.run, r.event_sequence
)
INSERT INTO tenure.run_events (run, sequence, type, from_status, to_status, actor, at, dedupe_key, payload)
SELECT m.run, m.event_sequence, 'run.queued', 'retry_wait', 'queued', $2::text, $3::timestamptz,
       'requeued:' || $4::int, '{}'
FROM moved m
