-- Keeps a project from being archived while definitions are published into it.
SELECT p.state FROM tenure.projects p WHERE p.project = $1::text FOR SHARE
