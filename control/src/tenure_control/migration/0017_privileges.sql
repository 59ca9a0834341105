-- What control and the operator surface may do. The contracts package holds the same as data; readiness compares it
-- with the catalogue and refuses to start over one privilege missing or one too many.

-- control: the runtime tables that the cadences need; no definition writes, no credentials, no delete.
GRANT SELECT ON
    tenure.projects, tenure.project_shares, tenure.task_revisions, tenure.trigger_revisions, tenure.trigger_cursors,
    tenure.runs, tenure.run_retry_policies, tenure.run_attempts, tenure.run_leases, tenure.recovery_controls
    TO tenure_control;
GRANT INSERT ON
    tenure.runs, tenure.run_retry_policies, tenure.run_attempts, tenure.run_events, tenure.trigger_events,
    tenure.recovery_controls
    TO tenure_control;
GRANT UPDATE (next_fair_tag) ON tenure.project_shares TO tenure_control;
GRANT UPDATE (state, state_version, due_at, next_fire_at, last_fire_at, last_observed_at, last_decision,
              event_sequence, claim_owner, claim_token, claim_version, claim_expires_at)
    ON tenure.trigger_cursors TO tenure_control;
GRANT UPDATE (status, version, event_sequence, error_code, error_message, next_attempt_at, unstarted_claims,
              queued_at, finished_at)
    ON tenure.runs TO tenure_control;
GRANT UPDATE (status, dispatchable, error_code, error_message, ended_at) ON tenure.run_attempts TO tenure_control;
GRANT UPDATE (state, version, release_reason) ON tenure.run_leases TO tenure_control;
GRANT UPDATE (status, lease_generation, lease_version, attested_sequence, claim_owner, claim_token, claim_version,
              claim_expires_at, next_claim_at, failure_count, last_answer, updated_at)
    ON tenure.recovery_controls TO tenure_control;

GRANT EXECUTE ON FUNCTION
    tenure.lock_definitions(text, text, text),
    tenure.take_fair_tag(text, integer, integer),
    tenure.create_attempt(uuid, uuid, text, timestamptz),
    tenure.admit_run(uuid, uuid, text, text, integer, text, text, integer, timestamptz, uuid, text, integer, integer,
                     text, bytea, jsonb, text)
    TO tenure_control, tenure_operator;
GRANT EXECUTE ON FUNCTION
    tenure.lock_attempts(uuid[]),
    tenure.return_to_queue(uuid, text, text, timestamptz)
    TO tenure_control;

-- operator surface: definitions, cursors, run admission, credentials, audit. It reads no worker secret, not even
-- its digest.
GRANT SELECT ON
    tenure.projects, tenure.project_shares, tenure.placement_classes, tenure.task_heads, tenure.task_revisions,
    tenure.trigger_heads, tenure.trigger_revisions, tenure.trigger_cursors, tenure.trigger_events, tenure.runs,
    tenure.run_retry_policies, tenure.run_attempts, tenure.run_events, tenure.recovery_controls,
    tenure.attempt_declines, tenure.workers, tenure.worker_sessions, tenure.operators, tenure.role_bindings,
    tenure.operator_tokens, tenure.security_audit_events
    TO tenure_operator;
GRANT SELECT (attempt, state, generation, version, worker, session, offer, acquired_at, renewed_at, expires_at,
              stop_reason, stop_requested_at, deadline_at, attested_state, attested_sequence, attested_at,
              release_reason)
    ON tenure.run_leases TO tenure_operator;
GRANT SELECT (credential, version, worker, state, not_before, expires_at, request_id, created_by, created_at,
              first_used_at)
    ON tenure.worker_credentials TO tenure_operator;
GRANT INSERT ON
    tenure.projects, tenure.project_shares, tenure.task_heads, tenure.task_revisions, tenure.trigger_heads,
    tenure.trigger_revisions, tenure.trigger_cursors, tenure.trigger_events, tenure.runs, tenure.run_retry_policies,
    tenure.run_attempts, tenure.run_events, tenure.workers, tenure.worker_credentials, tenure.security_audit_events
    TO tenure_operator;
GRANT UPDATE (state, version, weight) ON tenure.projects TO tenure_operator;
GRANT UPDATE (next_fair_tag) ON tenure.project_shares TO tenure_operator;
GRANT UPDATE (current_revision, state, version) ON tenure.task_heads TO tenure_operator;
GRANT UPDATE (current_revision, state, version) ON tenure.trigger_heads TO tenure_operator;
GRANT UPDATE (revision, state, state_version, due_at, next_fire_at, last_observed_at, event_sequence, claim_owner,
              claim_token, claim_expires_at)
    ON tenure.trigger_cursors TO tenure_operator;
GRANT UPDATE (version, event_sequence, cancel_requested_at, cancel_reason) ON tenure.runs TO tenure_operator;
GRANT UPDATE (stop_reason, stop_requested_at) ON tenure.run_leases TO tenure_operator;
GRANT UPDATE (state) ON tenure.worker_credentials TO tenure_operator;
GRANT UPDATE (drain_requested_at) ON tenure.worker_sessions TO tenure_operator;
GRANT EXECUTE ON FUNCTION
    tenure.placement_class(bytea, jsonb),
    tenure.placement_matches(jsonb, jsonb, text[], text[])
    TO tenure_operator;
