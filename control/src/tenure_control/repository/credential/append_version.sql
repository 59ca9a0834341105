-- Appends a version of a credential, valid from now on.
INSERT INTO tenure.worker_credentials (credential, version, worker, digest, not_before, request_id, created_by,
                                       created_at)
SELECT $1::text, $2::int, $3::text, $4::bytea, now.at, $5::uuid, $6::text, now.at
FROM (SELECT tenure.clock() AS at) AS now
