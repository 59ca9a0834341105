-- Ends an attempt that never started, with its event. $3: now.
WITH ended AS (
    UPDATE tenure.run_attempts a SET status = 'cancelled', dispatchable = false, ended_at = $3::timestamptz
    WHERE a.attempt = $1::uuid AND a.status = 'claimed'
    RETURNING a.run, a.attempt
), moved AS (
    UPDATE tenure.runs r SET version = r.version + 1, event_sequence = r.event_sequence + 1
    FROM ended WHERE r.run = ended.run
    RETURNING r.run, r.event_sequence, ended.attempt
)
INSERT INTO tenure.run_events (run, sequence, type, from_status, to_status, actor, at, dedupe_key, payload)
SELECT m.run, m.event_sequence, 'attempt.cancelled', 'claimed', 'cancelled', $2::text, $3::timestamptz,
       'attempt-ended:' || m.attempt, jsonb_build_object('attempt', m.attempt)
FROM moved m
