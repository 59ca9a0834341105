-- Extends the sessions of many requests in one call.
SELECT * FROM ingress_api.heartbeat_v1($1::text[], $2::bytea[], $3::uuid[], $4::integer[])
