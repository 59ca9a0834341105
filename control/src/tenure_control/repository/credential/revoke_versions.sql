-- Ends every version of a credential.
UPDATE tenure.worker_credentials c SET state = 'revoked'
WHERE c.credential = $1::text AND c.worker = $2::text AND c.state = 'active'
