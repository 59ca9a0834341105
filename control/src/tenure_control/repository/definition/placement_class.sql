-- The class of a compiled placement, made on first use.
SELECT tenure.placement_class($1::bytea, $2::jsonb)
