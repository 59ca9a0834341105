-- Whether the server answers, and whether it still takes what we write.
SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool AS read_only
