-- Gives every started attempt whose authority ended its recovery row, in one statement. What never started needs none:
-- its lease alone decides. $1: the longest time a lease can have left.
WITH clock AS MATERIALIZED (
    SELECT tenure.clock() AS now
)
INSERT INTO tenure.recovery_controls (attempt, status, lease_generation, lease_version, attested_sequence, updated_at)
SELECT a.attempt, 'available', coalesce(l.generation, 0), coalesce(l.version, 0), l.attested_sequence,
       (SELECT now FROM clock)
FROM tenure.run_attempts a
LEFT JOIN tenure.run_leases l ON l.attempt = a.attempt
WHERE a.status IN ('starting', 'running')
  AND (l.state IS DISTINCT FROM 'leased' OR l.expires_at <= (SELECT now FROM clock)
       OR l.expires_at > (SELECT now FROM clock) + $1::interval)
ON CONFLICT (attempt) DO NOTHING
