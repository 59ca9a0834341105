-- Locks run, attempt and lease of one attempt, unless somebody else holds one of them.
SELECT tenure.lock_attempts(ARRAY[$1::uuid]) = ARRAY[$1::uuid] AS ours
