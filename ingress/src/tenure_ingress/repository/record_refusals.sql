-- Writes the refusals of a minute as one audit row.
SELECT * FROM ingress_api.record_refusals_v1($1::uuid, $2::jsonb)
