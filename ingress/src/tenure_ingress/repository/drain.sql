-- Lets a session finish what it holds and take nothing more.
SELECT * FROM ingress_api.drain_v1($1::text, $2::bytea, $3::uuid, $4::integer)
