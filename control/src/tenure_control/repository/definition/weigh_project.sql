-- Changes the fair-share weight of a project.
UPDATE tenure.projects p SET weight = $2::int, version = p.version + 1 WHERE p.project = $1::text
