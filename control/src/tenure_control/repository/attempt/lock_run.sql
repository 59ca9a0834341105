-- Locks one run, unless somebody else holds it.
SELECT r.run FROM tenure.runs r WHERE r.run = $1::uuid FOR NO KEY UPDATE SKIP LOCKED
