-- Copies a run's intent onto its lease, where renewal finds it. A stop that stands there already stays.
UPDATE tenure.run_leases l SET stop_reason = $3::text, stop_requested_at = $2::timestamptz
WHERE l.attempt = (SELECT a.attempt FROM tenure.run_attempts a
                   WHERE a.run = $1::uuid AND a.status IN ('claimed', 'starting', 'running'))
  AND l.state = 'leased' AND l.stop_reason IS NULL
