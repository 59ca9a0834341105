-- Whether a project admits anything.
SELECT p.state FROM tenure.projects p WHERE p.project = $1::text
