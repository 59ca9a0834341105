-- Some task revisions, to render plans from.
SELECT r.task, r.revision, r.digest, r.spec
FROM unnest($2::text[], $3::int[]) AS i (task, revision)
JOIN tenure.task_revisions r ON r.project = $1::text AND r.task = i.task AND r.revision = i.revision
