-- Makes a project with its share of each priority, unless it exists: one row when it was made.
WITH made AS (
    INSERT INTO tenure.projects (project, weight, created_at) VALUES ($1::text, $2::int, $3::timestamptz)
    ON CONFLICT (project) DO NOTHING
    RETURNING project
), shared AS (
    INSERT INTO tenure.project_shares (project, priority)
    SELECT made.project, priority FROM made, generate_series(0, 9) priority
)
SELECT made.project FROM made
