-- Lists what a session holds.
SELECT * FROM ingress_api.held_leases_v1($1::text, $2::bytea, $3::uuid, $4::integer)
