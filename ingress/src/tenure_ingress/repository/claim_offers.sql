-- Answers a pull: rebuilds offers that were answered before, and claims work for fresh ones.
SELECT * FROM ingress_api.claim_offers_v1(
    $1::text, $2::bytea, $3::uuid, $4::integer, $5::uuid[], $6::bytea[], $7::double precision)
