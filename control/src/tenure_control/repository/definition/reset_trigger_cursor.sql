-- Ends a claim and begins the schedule anew (or ends it: due NULL), with an event.
WITH reset AS (
    UPDATE tenure.trigger_cursors c
    SET state = 'idle', state_version = c.state_version + 1, due_at = $3::timestamptz, next_fire_at = NULL,
        event_sequence = c.event_sequence + 1, claim_owner = NULL, claim_token = NULL, claim_expires_at = NULL
    WHERE c.project = $1::text AND c.trigger = $2::text
    RETURNING c.event_sequence
)
INSERT INTO tenure.trigger_events (project, trigger, sequence, type, actor, at, payload)
SELECT $1::text, $2::text, reset.event_sequence, $4::text, $5::text, $6::timestamptz, $7::jsonb FROM reset
