-- Begins the schedule of new trigger revisions anew, with an event each: claims end, the next time is unknown. A
-- trigger that is paused, archived or not enabled is never due.
WITH wanted AS (
    SELECT n.trigger, n.revision, n.payload,
           CASE WHEN n.enabled AND h.state = 'active' THEN $6::timestamptz END AS due_at
    FROM unnest($2::text[], $3::int[], $4::bool[], $5::text[]) AS n (trigger, revision, enabled, payload)
    JOIN tenure.trigger_heads h ON h.project = $1::text AND h.trigger = n.trigger
), put AS (
    INSERT INTO tenure.trigger_cursors AS c (project, trigger, revision, due_at, event_sequence)
    SELECT $1::text, w.trigger, w.revision, w.due_at, 1 FROM wanted w ORDER BY w.trigger
    ON CONFLICT (project, trigger) DO UPDATE
    SET revision = excluded.revision, state = 'idle', state_version = c.state_version + 1,
        due_at = excluded.due_at, next_fire_at = NULL, event_sequence = c.event_sequence + 1,
        claim_owner = NULL, claim_token = NULL, claim_expires_at = NULL
    RETURNING c.trigger, c.event_sequence
)
INSERT INTO tenure.trigger_events (project, trigger, sequence, type, actor, at, payload)
SELECT $1::text, p.trigger, p.event_sequence, 'trigger.published', $7::text, $6::timestamptz, w.payload::jsonb
FROM put p JOIN wanted w ON w.trigger = p.trigger
