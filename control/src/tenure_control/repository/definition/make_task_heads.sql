-- Makes the heads that are missing, in the order of their names, so that publishers never wait in a circle.
INSERT INTO tenure.task_heads (project, task, current_revision, created_at)
SELECT $1::text, name, 1, $3::timestamptz FROM unnest($2::text[]) AS name ORDER BY name
ON CONFLICT (project, task) DO NOTHING
