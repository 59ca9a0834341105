-- Crosses the start barrier.
SELECT * FROM ingress_api.starting_v1(
    $1::text[], $2::bytea[], $3::uuid[], $4::integer[], $5::uuid[], $6::uuid[], $7::bytea[], $8::integer[],
    $9::integer[], $10::bytea[])
