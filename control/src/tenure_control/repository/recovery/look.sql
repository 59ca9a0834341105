-- A page of attempts whose authority ended: unstarted ones first, because they can be decided; then started ones, those
-- never looked at before those that were. $1: how many; $2: the longest time a lease can have left. Driven by leases:
-- sessions play no part. Left out is what waits for a time, a person, or another replica, unless somebody attested since.
WITH clock AS MATERIALIZED (
    SELECT tenure.clock() AS now
), ended AS (
    SELECT l.attempt, l.attested_sequence FROM tenure.run_leases l
    WHERE l.state = 'leased'
      AND (l.expires_at <= (SELECT now FROM clock) OR l.expires_at > (SELECT now FROM clock) + $2::interval)
    UNION ALL
    SELECT a.attempt, l.attested_sequence FROM tenure.run_attempts a
    LEFT JOIN tenure.run_leases l ON l.attempt = a.attempt
    WHERE a.status IN ('starting', 'running') AND l.state IS DISTINCT FROM 'leased'
)
SELECT e.attempt, a.status <> 'claimed' AS started
FROM ended e
JOIN tenure.run_attempts a ON a.attempt = e.attempt
LEFT JOIN tenure.recovery_controls c ON c.attempt = e.attempt
WHERE c.attempt IS NULL
   OR a.status = 'claimed'
   OR e.attested_sequence > coalesce(c.attested_sequence, 0) AND c.status IN ('retry', 'manual')
   OR CASE c.status
          WHEN 'retry' THEN c.next_claim_at <= (SELECT now FROM clock)
          WHEN 'claimed' THEN c.claim_expires_at <= (SELECT now FROM clock)
          WHEN 'manual' THEN false
          ELSE true END
ORDER BY a.status <> 'claimed', c.next_claim_at NULLS FIRST, e.attempt
LIMIT $1::int
