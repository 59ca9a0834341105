-- Ends a session and gives back what it did not start.
SELECT * FROM ingress_api.offline_v1($1::text, $2::bytea, $3::uuid, $4::integer)
