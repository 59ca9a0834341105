-- Whether a credential is good.
SELECT * FROM ingress_api.authenticate_v1($1::text, $2::bytea)
