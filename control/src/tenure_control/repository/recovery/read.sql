-- One attempt with its lease, as stored now.
SELECT a.status AS attempt_status, l.state AS lease_state, l.expires_at, coalesce(l.generation, 0) AS lease_generation,
       coalesce(l.version, 0) AS lease_version, l.attested_sequence, r.plan, (SELECT tenure.clock()) AS now
FROM tenure.run_attempts a
JOIN tenure.runs r ON r.run = a.run
LEFT JOIN tenure.run_leases l ON l.attempt = a.attempt
WHERE a.attempt = $1::uuid
