-- Takes the heads, in the order of their names.
SELECT h.task FROM tenure.task_heads h
WHERE h.project = $1::text AND h.task = ANY ($2::text[])
ORDER BY h.task FOR NO KEY UPDATE
