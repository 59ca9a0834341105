-- Claims the right to investigate one attempt: an available or resolved row, one that is due or was attested since, or
-- a claim that expired. No row: somebody else has it, or its time has not come.
UPDATE tenure.recovery_controls c
SET status = 'claimed', claim_owner = $2::text, claim_token = $3::uuid, claim_version = c.claim_version + 1,
    claim_expires_at = $4::timestamptz + $5::interval, next_claim_at = NULL,
    lease_generation = $6::int, lease_version = $7::int, attested_sequence = $8::int, updated_at = $4::timestamptz
WHERE c.attempt = $1::uuid
  AND CASE c.status
          WHEN 'retry' THEN c.next_claim_at <= $4::timestamptz OR $8::int > coalesce(c.attested_sequence, 0)
          WHEN 'claimed' THEN c.claim_expires_at <= $4::timestamptz
          WHEN 'manual' THEN false
          ELSE true END
RETURNING c.claim_version, c.failure_count
