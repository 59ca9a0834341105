-- Whether the database answers at all.
SELECT true
