-- One revision of a task; NULL: the current one.
SELECT h.task AS name, h.state, r.revision, r.digest, r.spec, r.created_at
FROM tenure.task_heads h
JOIN tenure.task_revisions r
  ON r.project = h.project AND r.task = h.task AND r.revision = coalesce($3::int, h.current_revision)
WHERE h.project = $1::text AND h.task = $2::text
