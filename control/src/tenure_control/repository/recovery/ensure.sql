-- Makes sure that an attempt has a recovery row.
INSERT INTO tenure.recovery_controls (attempt, status, lease_generation, lease_version, updated_at)
VALUES ($1::uuid, 'available', 0, 0, tenure.clock())
ON CONFLICT (attempt) DO NOTHING
