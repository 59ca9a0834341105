-- One project.
SELECT p.project, p.state, p.weight, p.version, p.created_at FROM tenure.projects p WHERE p.project = $1::text
