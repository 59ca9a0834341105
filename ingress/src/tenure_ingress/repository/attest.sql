-- Records what a worker states about an attempt, and moves the lease to the session that found it running.
SELECT * FROM ingress_api.attest_v1(
    $1::text, $2::bytea, $3::uuid, $4::uuid, $5::uuid, $6::uuid, $7::bytea, $8::integer, $9::integer, $10::text,
    $11::timestamptz, $12::text, $13::text, $14::text, $15::bytea, $16::double precision)
