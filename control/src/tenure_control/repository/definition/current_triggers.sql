-- The current revisions of some triggers, and what they pin.
SELECT h.trigger, h.state, r.revision, r.digest, r.spec, r.task, r.task_revision, r.task_digest
FROM tenure.trigger_heads h
JOIN tenure.trigger_revisions r
  ON r.project = h.project AND r.trigger = h.trigger AND r.revision = h.current_revision
WHERE h.project = $1::text AND h.trigger = ANY ($2::text[])
