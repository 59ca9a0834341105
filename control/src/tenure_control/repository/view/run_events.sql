-- A page of the events of a run, in order.
SELECT e.sequence, e.type, e.from_status, e.to_status, e.actor, e.at, e.payload::text AS payload
FROM tenure.run_events e
WHERE e.run = $1::uuid AND e.sequence > $2::int
ORDER BY e.sequence
LIMIT $3::int
