-- Renews the leases of many requests in one call.
SELECT * FROM ingress_api.renew_v1(
    $1::text[], $2::bytea[], $3::uuid[], $4::integer[], $5::integer[], $6::uuid[], $7::uuid[], $8::bytea[],
    $9::integer[], $10::integer[], $11::double precision)
