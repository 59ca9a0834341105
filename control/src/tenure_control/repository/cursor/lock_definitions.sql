-- Locks project, task head and trigger head FOR SHARE, and tells their states.
SELECT d.project_state, d.task_state, d.trigger_state, d.trigger_revision
FROM tenure.lock_definitions($1::text, $2::text, $3::text) d
