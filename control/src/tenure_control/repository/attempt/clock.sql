-- The database's time, after the locks were taken.
SELECT tenure.clock()
