-- One revision of a trigger; NULL: the current one.
SELECT h.trigger AS name, h.state, r.revision, r.digest, r.spec, r.created_at, r.task, r.task_revision,
       c.last_fire_at, h.current_revision, tenure.clock() AS now
FROM tenure.trigger_heads h
JOIN tenure.trigger_revisions r
  ON r.project = h.project AND r.trigger = h.trigger AND r.revision = coalesce($3::int, h.current_revision)
JOIN tenure.trigger_cursors c ON c.project = h.project AND c.trigger = h.trigger
WHERE h.project = $1::text AND h.trigger = $2::text
