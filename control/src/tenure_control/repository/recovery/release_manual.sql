-- A newer attestation makes a row available again that waited for a person.
UPDATE tenure.recovery_controls c SET status = 'available', updated_at = $2::timestamptz
WHERE c.attempt = $1::uuid AND c.status = 'manual' AND $3::int > coalesce(c.attested_sequence, 0)
