-- Ends a run that nobody can be executing, with its event. $3: now; $4: the status it had.
WITH moved AS (
    UPDATE tenure.runs r
    SET status = 'cancelled', next_attempt_at = NULL, finished_at = $3::timestamptz,
        version = r.version + 1, event_sequence = r.event_sequence + 1
    WHERE r.run = $1::uuid AND r.status = $4::text
    RETURNING r.run, r.event_sequence, r.cancel_reason
)
INSERT INTO tenure.run_events (run, sequence, type, from_status, to_status, actor, at, dedupe_key, payload)
SELECT m.run, m.event_sequence, 'run.cancelled', $4::text, 'cancelled', $2::text, $3::timestamptz, 'run-ended',
       jsonb_build_object('reason', m.cancel_reason)
FROM moved m
