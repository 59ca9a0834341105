-- Lost to retry_wait, with its event. $3: the wait in microseconds; $4: now; $5: the number of the lost attempt.
WITH moved AS (
    UPDATE tenure.runs r
    SET status = 'retry_wait', next_attempt_at = $4::timestamptz + $3::bigint * interval '1 microsecond',
        version = r.version + 1, event_sequence = r.event_sequence + 1
    WHERE r.run = $1::uuid AND r.status = 'lost'
    RETURNING r.run, r.event_sequence
)
INSERT INTO tenure.run_events (run, sequence, type, from_status, to_status, actor, at, dedupe_key, payload)
SELECT m.run, m.event_sequence, 'run.retry_wait', 'lost', 'retry_wait', $2::text, $4::timestamptz,
       'retry-decided:' || $5::int, jsonb_build_object('delay_us', $3::bigint)
FROM moved m
