-- What each asked-for run would be: the run that its key admitted before, or the revision that it would pin. A row
-- per item of the request; `known` tells whether the task exists.
SELECT i.ord::int AS ord, h.task IS NOT NULL AS known, e.run, e.task AS existing_task, e.plan, e.plan_digest,
       coalesce(e.task_revision, i.revision, h.current_revision) AS revision
FROM unnest($2::text[], $3::int[], $4::text[]) WITH ORDINALITY AS i (task, revision, key, ord)
LEFT JOIN tenure.task_heads h ON h.project = $1::text AND h.task = i.task
LEFT JOIN tenure.runs e ON e.project = $1::text AND e.idempotency_key = i.key
ORDER BY i.ord
