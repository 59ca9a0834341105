-- Locks the recovery row of an attempt, unless another replica has it.
SELECT c.status FROM tenure.recovery_controls c WHERE c.attempt = $1::uuid FOR NO KEY UPDATE SKIP LOCKED
