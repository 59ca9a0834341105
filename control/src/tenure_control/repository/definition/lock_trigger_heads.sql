-- Takes the heads, in the order of their names.
SELECT h.trigger FROM tenure.trigger_heads h
WHERE h.project = $1::text AND h.trigger = ANY ($2::text[])
ORDER BY h.trigger FOR NO KEY UPDATE
