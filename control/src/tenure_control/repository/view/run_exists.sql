-- Whether a project has this run.
SELECT EXISTS (SELECT FROM tenure.runs r WHERE r.project = $1::text AND r.run = $2::uuid)
