-- Makes the heads that are missing, in the order of their names.
INSERT INTO tenure.trigger_heads (project, trigger, current_revision, created_at)
SELECT $1::text, name, 1, $3::timestamptz FROM unnest($2::text[]) AS name ORDER BY name
ON CONFLICT (project, trigger) DO NOTHING
