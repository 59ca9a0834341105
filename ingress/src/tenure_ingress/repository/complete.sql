-- Records how an attempt ended.
SELECT * FROM ingress_api.complete_v1(
    $1::text[], $2::bytea[], $3::uuid[], $4::integer[], $5::uuid[], $6::uuid[], $7::bytea[], $8::integer[],
    $9::integer[], $10::bytea[], $11::text[], $12::bigint[], $13::timestamptz[], $14::timestamptz[], $15::text[],
    $16::text[], $17::text[], $18::text[], $19::text[], $20::text[])
