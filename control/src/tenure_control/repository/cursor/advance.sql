-- Ends a claim with its decision, and writes the event. The caller holds the cursor's lock and has compared the fences.
-- $3: decision; $4: next fire time, NULL for never; $5: the fire time that an admission used up; $6: event; $7: actor;
-- $8: now; $9: payload.
WITH advanced AS (
    UPDATE tenure.trigger_cursors c
    SET state = 'idle', state_version = c.state_version + 1, last_decision = $3::text, due_at = $4::timestamptz,
        next_fire_at = $4::timestamptz, last_fire_at = coalesce($5::timestamptz, c.last_fire_at),
        event_sequence = c.event_sequence + 1, claim_owner = NULL, claim_token = NULL, claim_expires_at = NULL
    WHERE c.project = $1::text AND c.trigger = $2::text AND c.state = 'claimed'
    RETURNING c.event_sequence
)
INSERT INTO tenure.trigger_events (project, trigger, sequence, type, actor, at, payload)
SELECT $1::text, $2::text, a.event_sequence, $6::text, $7::text, $8::timestamptz, $9::text::jsonb FROM advanced a
