-- Locks the project and every task of a submission before the first run of it is admitted: an admission takes the
-- project's share, which comes later in the lock order than the next task's head.
SELECT count(*) FROM (SELECT name FROM unnest($2::text[]) AS name ORDER BY name) AS task
CROSS JOIN LATERAL tenure.lock_definitions($1::text, task.name, NULL)
