-- Ends the lease of an attempt that ends without having started.
UPDATE tenure.run_leases l SET state = 'released', release_reason = 'settled', version = l.version + 1
WHERE l.attempt = $1::uuid AND l.state = 'leased'
