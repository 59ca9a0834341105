-- Creates or replays a session.
SELECT * FROM ingress_api.register_v1(
    $1::text, $2::bytea, $3::uuid, $4::jsonb, $5::text[], $6::text[], $7::integer, $8::double precision, $9::boolean,
    $10::text)
