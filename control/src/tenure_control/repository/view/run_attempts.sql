-- A page of the attempts of a run, in order, each with the last holder of its lease.
SELECT a.attempt, a.number, a.try, a.step, a.status, l.worker, l.generation AS lease_generation, a.started_at,
       a.finished_at, a.exit_code, a.error_code, a.error_message, a.log::text AS log
FROM tenure.run_attempts a
LEFT JOIN tenure.run_leases l ON l.attempt = a.attempt
WHERE a.run = $1::uuid AND a.number > $2::int
ORDER BY a.number
LIMIT $3::int
