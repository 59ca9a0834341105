-- Takes a project for a change of the project itself.
SELECT p.state, p.weight FROM tenure.projects p WHERE p.project = $1::text FOR NO KEY UPDATE
