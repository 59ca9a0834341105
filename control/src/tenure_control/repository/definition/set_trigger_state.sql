-- Pauses or resumes a trigger.
UPDATE tenure.trigger_heads h SET state = $3::text, version = h.version + 1
WHERE h.project = $1::text AND h.trigger = $2::text AND h.state <> $3::text
