-- Ends a queued run whose plan is not the one that was admitted, with its event. $3: now.
WITH moved AS (
    UPDATE tenure.runs r
    SET status = 'failed', error_code = 'digest_mismatch', error_message = 'the plan is not the one that was admitted',
        finished_at = $3::timestamptz, version = r.version + 1, event_sequence = r.event_sequence + 1
    WHERE r.run = $1::uuid AND r.status = 'queued'
    RETURNING r.run, r.event_sequence
)
INSERT INTO tenure.run_events (run, sequence, type, from_status, to_status, actor, at, dedupe_key, payload)
SELECT m.run, m.event_sequence, 'run.failed', 'queued', 'failed', $2::text, $3::timestamptz, 'run-ended',
       jsonb_build_object('code', 'digest_mismatch')
FROM moved m
