-- Takes the cursors, in the order of their names: whoever decides with an older claim has to wait, and then loses.
SELECT c.trigger FROM tenure.trigger_cursors c
WHERE c.project = $1::text AND c.trigger = ANY ($2::text[])
ORDER BY c.trigger FOR NO KEY UPDATE
