-- Writes a cancel intent on a run, with its event, unless there is one: an intent is never taken back or changed.
WITH moved AS (
    UPDATE tenure.runs r
    SET cancel_requested_at = $3::timestamptz, cancel_reason = $4::text,
        version = r.version + 1, event_sequence = r.event_sequence + 1
    WHERE r.run = $1::uuid AND r.cancel_requested_at IS NULL
    RETURNING r.run, r.status, r.event_sequence
)
INSERT INTO tenure.run_events (run, sequence, type, from_status, to_status, actor, at, dedupe_key, payload)
SELECT m.run, m.event_sequence, 'run.cancel_requested', m.status, m.status, $2::text, $3::timestamptz,
       'cancel-requested', jsonb_build_object('reason', $4::text)
FROM moved m
