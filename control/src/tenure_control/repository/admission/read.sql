-- One run that is to be admitted, as stored now, with its plan and the revision that it pins.
SELECT r.status, r.cancel_requested_at IS NOT NULL AS cancelled, r.plan, r.plan_digest, r.task_digest,
       t.digest AS revision_digest, t.spec AS revision_spec,
       EXISTS (SELECT FROM tenure.run_attempts a
               WHERE a.run = r.run AND a.status IN ('claimed', 'starting', 'running')) AS has_attempt
FROM tenure.runs r
LEFT JOIN tenure.task_revisions t ON t.project = r.project AND t.task = r.task AND t.revision = r.task_revision
WHERE r.run = $1::uuid
