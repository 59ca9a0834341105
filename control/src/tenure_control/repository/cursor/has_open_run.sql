-- Whether a trigger has a run that has not ended.
SELECT EXISTS (SELECT FROM tenure.runs r
               WHERE r.project = $1::text AND r.trigger = $2::text AND r.finished_at IS NULL)
