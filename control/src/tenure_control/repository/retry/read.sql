-- One run between two tries with its pinned policy; tries are attempts that crossed the start barrier.
SELECT r.status, r.cancel_requested_at IS NOT NULL AS cancelled, r.next_attempt_at, (SELECT tenure.clock()) AS now,
       (SELECT count(*)::int FROM tenure.run_attempts a WHERE a.run = r.run) AS attempts,
       (SELECT count(*)::int FROM tenure.run_attempts a
        WHERE a.run = r.run AND a.barrier_at IS NOT NULL) AS tries,
       p.max_attempts, p.on_failed, p.on_timed_out, p.on_lost, p.safety, p.delays_us,
       p.exit_codes::text AS exit_codes
FROM tenure.runs r
LEFT JOIN tenure.run_retry_policies p ON p.run = r.run
WHERE r.run = $1::uuid
