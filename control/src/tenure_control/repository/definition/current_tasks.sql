-- The current revisions of some tasks.
SELECT h.task, h.state, r.revision, r.digest, r.spec
FROM tenure.task_heads h
JOIN tenure.task_revisions r ON r.project = h.project AND r.task = h.task AND r.revision = h.current_revision
WHERE h.project = $1::text AND h.task = ANY ($2::text[])
