-- Ends the expired lease of an unstarted attempt under its locks; the run's new status.
SELECT tenure.return_to_queue($1::uuid, 'lease_expired', $2::text, tenure.clock())
