-- The version that a request made.
SELECT c.credential, c.worker, c.version FROM tenure.worker_credentials c WHERE c.request_id = $1::uuid
