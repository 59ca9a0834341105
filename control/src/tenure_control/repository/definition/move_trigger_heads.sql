-- Points heads at their new revisions.
UPDATE tenure.trigger_heads h
SET current_revision = n.revision, version = h.version + 1
FROM unnest($2::text[], $3::int[]) AS n (trigger, revision)
WHERE h.project = $1::text AND h.trigger = n.trigger AND h.current_revision <> n.revision
