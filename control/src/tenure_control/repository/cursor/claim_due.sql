-- Claims the cursor that is due longest, together with what its trigger pins. An expired claim is taken over, and so is
-- one that ends impossibly late, made by a clock that has gone back. $1: owner; $2: token; $3: how long the claim lasts.
WITH due AS MATERIALIZED (
    SELECT c.project, c.trigger, c.last_observed_at
    FROM tenure.trigger_cursors c
    WHERE c.due_at <= (SELECT tenure.clock())
      AND (c.state = 'idle' OR c.claim_expires_at <= (SELECT tenure.clock())
           OR c.claim_expires_at > (SELECT tenure.clock()) + 2 * $3::interval)
    ORDER BY c.due_at, c.project, c.trigger
    LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (
    UPDATE tenure.trigger_cursors c
    SET state = 'claimed', state_version = c.state_version + 1, claim_owner = $1::text, claim_token = $2::uuid,
        claim_version = c.claim_version + 1, claim_expires_at = (SELECT tenure.clock()) + $3::interval,
        last_observed_at = (SELECT tenure.clock())
    FROM due
    WHERE c.project = due.project AND c.trigger = due.trigger
    RETURNING c.project, c.trigger, c.revision, c.state_version, c.claim_version, c.next_fire_at, c.due_at,
              c.last_observed_at AS observed_at, due.last_observed_at
)
SELECT k.*, r.digest, r.spec, r.task, r.task_revision, r.task_digest, t.digest AS revision_digest,
       t.spec AS task_spec
FROM claimed k
JOIN tenure.trigger_revisions r ON r.project = k.project AND r.trigger = k.trigger AND r.revision = k.revision
JOIN tenure.task_revisions t ON t.project = r.project AND t.task = r.task AND t.revision = r.task_revision
