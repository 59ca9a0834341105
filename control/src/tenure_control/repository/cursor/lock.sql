-- Locks the cursor if it is still claimed by this claim: nobody took the claim over, and no operator changed the trigger.
SELECT c.revision FROM tenure.trigger_cursors c
WHERE c.project = $1::text AND c.trigger = $2::text AND c.state = 'claimed' AND c.claim_token = $3::uuid
  AND c.claim_version = $4::bigint AND c.state_version = $5::bigint AND c.revision = $6::int
FOR NO KEY UPDATE
