-- Makes a project with its share, unless it exists.
WITH made AS (
    INSERT INTO tenure.projects (project, weight, created_at) VALUES ($1::text, $2::int, $3::timestamptz)
    ON CONFLICT (project) DO NOTHING
    RETURNING project
)
INSERT INTO tenure.project_shares (project) SELECT made.project FROM made
RETURNING project
