-- State guards: a transition that is not in the tables of the contracts package is refused, whoever asks.
-- The triggers are generated from those tables.

CREATE TRIGGER run_birth BEFORE INSERT ON tenure.runs FOR EACH ROW
WHEN (NOT (NEW.kind = 'task' AND NEW.status IN ('queued')
    OR NEW.kind = 'workflow' AND NEW.status IN ('running')))
EXECUTE FUNCTION tenure.refuse_transition('run', 'status');

CREATE TRIGGER run_transition BEFORE UPDATE OF status ON tenure.runs FOR EACH ROW
WHEN (OLD.status <> NEW.status AND NOT (
    NEW.kind = 'task' AND CASE OLD.status
        WHEN 'dispatching' THEN NEW.status IN ('cancelled', 'failed', 'lost', 'queued', 'retry_wait', 'running', 'succeeded', 'timed_out')
        WHEN 'lost' THEN NEW.status IN ('cancelled', 'failed', 'retry_wait')
        WHEN 'queued' THEN NEW.status IN ('cancelled', 'dispatching', 'failed')
        WHEN 'retry_wait' THEN NEW.status IN ('cancelled', 'failed', 'queued')
        WHEN 'running' THEN NEW.status IN ('cancelled', 'failed', 'lost', 'retry_wait', 'succeeded', 'timed_out')
        ELSE false END
    OR NEW.kind = 'workflow' AND CASE OLD.status
        WHEN 'running' THEN NEW.status IN ('cancelled', 'failed', 'succeeded', 'timed_out')
        ELSE false END))
EXECUTE FUNCTION tenure.refuse_transition('run', 'status');

CREATE TRIGGER attempt_birth BEFORE INSERT ON tenure.run_attempts FOR EACH ROW
WHEN (NOT (NEW.status IN ('claimed')))
EXECUTE FUNCTION tenure.refuse_transition('attempt', 'status');

CREATE TRIGGER attempt_transition BEFORE UPDATE OF status ON tenure.run_attempts FOR EACH ROW
WHEN (OLD.status <> NEW.status AND NOT (
    CASE OLD.status
        WHEN 'claimed' THEN NEW.status IN ('cancelled', 'failed', 'starting')
        WHEN 'running' THEN NEW.status IN ('cancelled', 'failed', 'lost', 'succeeded', 'timed_out')
        WHEN 'starting' THEN NEW.status IN ('cancelled', 'failed', 'lost', 'running', 'succeeded', 'timed_out')
        ELSE false END))
EXECUTE FUNCTION tenure.refuse_transition('attempt', 'status');

CREATE TRIGGER lease_birth BEFORE INSERT ON tenure.run_leases FOR EACH ROW
WHEN (NOT (NEW.state IN ('leased')))
EXECUTE FUNCTION tenure.refuse_transition('lease', 'state');

CREATE TRIGGER lease_transition BEFORE UPDATE OF state ON tenure.run_leases FOR EACH ROW
WHEN (OLD.state <> NEW.state AND NOT (
    CASE OLD.state
        WHEN 'leased' THEN NEW.state IN ('completed', 'leased', 'released')
        WHEN 'released' THEN NEW.state IN ('leased')
        ELSE false END))
EXECUTE FUNCTION tenure.refuse_transition('lease', 'state');

CREATE TRIGGER session_birth BEFORE INSERT ON tenure.worker_sessions FOR EACH ROW
WHEN (NOT (NEW.status IN ('online')))
EXECUTE FUNCTION tenure.refuse_transition('session', 'status');

CREATE TRIGGER session_transition BEFORE UPDATE OF status ON tenure.worker_sessions FOR EACH ROW
WHEN (OLD.status <> NEW.status AND NOT (
    CASE OLD.status
        WHEN 'draining' THEN NEW.status IN ('offline', 'replaced')
        WHEN 'offline' THEN NEW.status IN ('replaced')
        WHEN 'online' THEN NEW.status IN ('draining', 'offline', 'replaced')
        ELSE false END))
EXECUTE FUNCTION tenure.refuse_transition('session', 'status');

CREATE TRIGGER cursor_birth BEFORE INSERT ON tenure.trigger_cursors FOR EACH ROW
WHEN (NOT (NEW.state IN ('idle')))
EXECUTE FUNCTION tenure.refuse_transition('cursor', 'state');

CREATE TRIGGER cursor_transition BEFORE UPDATE OF state ON tenure.trigger_cursors FOR EACH ROW
WHEN (OLD.state <> NEW.state AND NOT (
    CASE OLD.state
        WHEN 'claimed' THEN NEW.state IN ('claimed', 'idle')
        WHEN 'idle' THEN NEW.state IN ('claimed')
        ELSE false END))
EXECUTE FUNCTION tenure.refuse_transition('cursor', 'state');

CREATE TRIGGER recovery_birth BEFORE INSERT ON tenure.recovery_controls FOR EACH ROW
WHEN (NOT (NEW.status IN ('available')))
EXECUTE FUNCTION tenure.refuse_transition('recovery', 'status');

CREATE TRIGGER recovery_transition BEFORE UPDATE OF status ON tenure.recovery_controls FOR EACH ROW
WHEN (OLD.status <> NEW.status AND NOT (
    CASE OLD.status
        WHEN 'available' THEN NEW.status IN ('claimed')
        WHEN 'claimed' THEN NEW.status IN ('claimed', 'manual', 'resolved', 'retry')
        WHEN 'manual' THEN NEW.status IN ('available')
        WHEN 'resolved' THEN NEW.status IN ('claimed')
        WHEN 'retry' THEN NEW.status IN ('claimed')
        ELSE false END))
EXECUTE FUNCTION tenure.refuse_transition('recovery', 'status');

-- The pair of attempt and lease, checked when the transaction commits: terminal work has no live lease, dispatchable
-- work has none either, and unstarted work that is not dispatchable has one.
CREATE FUNCTION tenure.check_attempt_and_lease() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    a tenure.run_attempts;
    held boolean;
BEGIN
    SELECT * INTO a FROM tenure.run_attempts x WHERE x.attempt = NEW.attempt;
    held := EXISTS (SELECT FROM tenure.run_leases l WHERE l.attempt = NEW.attempt AND l.state = 'leased');
    IF (a.ended_at IS NOT NULL OR a.dispatchable) AND held OR a.status = 'claimed' AND NOT a.dispatchable AND NOT held THEN
        RAISE EXCEPTION USING
            ERRCODE = 'TN002',
            MESSAGE = format('attempt %s is %s (dispatchable: %s) while its lease is %s', a.attempt, a.status,
                             a.dispatchable, CASE WHEN held THEN 'live' ELSE 'not live' END);
    END IF;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER attempt_and_lease AFTER INSERT OR UPDATE OF status, dispatchable ON tenure.run_attempts
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tenure.check_attempt_and_lease();

-- UPDATE OF state: a renewal does not name the column and pays nothing.
CREATE CONSTRAINT TRIGGER lease_and_attempt AFTER INSERT OR UPDATE OF state ON tenure.run_leases
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tenure.check_attempt_and_lease();

-- Events are append-only for everybody.
CREATE FUNCTION tenure.refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'TN003', MESSAGE = format('%s is append-only', TG_TABLE_NAME); END $$;

CREATE TRIGGER run_events_append_only BEFORE UPDATE ON tenure.run_events
FOR EACH STATEMENT EXECUTE FUNCTION tenure.refuse_change();
CREATE TRIGGER trigger_events_append_only BEFORE UPDATE ON tenure.trigger_events
FOR EACH STATEMENT EXECUTE FUNCTION tenure.refuse_change();
CREATE TRIGGER task_revisions_append_only BEFORE UPDATE ON tenure.task_revisions
FOR EACH STATEMENT EXECUTE FUNCTION tenure.refuse_change();
CREATE TRIGGER trigger_revisions_append_only BEFORE UPDATE ON tenure.trigger_revisions
FOR EACH STATEMENT EXECUTE FUNCTION tenure.refuse_change();
