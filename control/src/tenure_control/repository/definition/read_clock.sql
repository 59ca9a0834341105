-- Reads the only clock, in a statement of its own, after the locks that were waited for.
SELECT tenure.clock()
