-- Lost to failed, with its event. $3: the error code; $4: now; $5: the number of the lost attempt.
WITH moved AS (
    UPDATE tenure.runs r
    SET status = 'failed', error_code = $3::text, error_message = 'the attempt was lost', finished_at = $4::timestamptz,
        version = r.version + 1, event_sequence = r.event_sequence + 1
    WHERE r.run = $1::uuid AND r.status = 'lost'
    RETURNING r.run, r.event_sequence
)
INSERT INTO tenure.run_events (run, sequence, type, from_status, to_status, actor, at, dedupe_key, payload)
SELECT m.run, m.event_sequence, 'run.failed', 'lost', 'failed', $2::text, $4::timestamptz,
       'retry-decided:' || $5::int, jsonb_build_object('code', $3::text)
FROM moved m
