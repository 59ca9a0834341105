-- Locks the lease of an attempt; a renewal holds it for a moment, so this waits.
SELECT l.state FROM tenure.run_leases l WHERE l.attempt = $1::uuid FOR NO KEY UPDATE
