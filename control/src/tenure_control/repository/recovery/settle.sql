-- Ends a claim with what was found, unless it was taken over. $4: resolved, retry or manual; $5: seconds until the next
-- look, for retry only; $6: the answer; $7: whether the look decided nothing, which makes the next wait longer.
UPDATE tenure.recovery_controls c
SET status = $4::text, next_claim_at = tenure.clock() + $5::float8 * interval '1 second', last_answer = $6::text,
    failure_count = CASE WHEN $7::bool THEN c.failure_count + 1 ELSE 0 END,
    claim_owner = NULL, claim_token = NULL, claim_expires_at = NULL, updated_at = tenure.clock()
WHERE c.attempt = $1::uuid AND c.status = 'claimed' AND c.claim_token = $2::uuid AND c.claim_version = $3::bigint
RETURNING c.status
