-- Schemas and the one clock.
--
-- `tenure` holds tables and internal functions, `ingress_api` the only functions that the ingress role may call.
-- Everything is owned by tenure_owner: the runner becomes that role before it applies a file, and has already made
-- `tenure` with the migration history in it.

CREATE SCHEMA ingress_api;

REVOKE ALL ON SCHEMA tenure, ingress_api FROM PUBLIC;
GRANT USAGE ON SCHEMA tenure TO tenure_control, tenure_operator;
GRANT USAGE ON SCHEMA ingress_api TO tenure_ingress;

-- Functions are PUBLIC by default in PostgreSQL. Here a right exists only where a migration grants it.
ALTER DEFAULT PRIVILEGES FOR ROLE tenure_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- The only clock for leases, deadlines, cursors, due times and events. It is volatile on purpose: a decision that
-- waited for a lock must see the time after the wait. A look compares with (SELECT tenure.clock()), once per
-- statement, because a volatile call can never be an index condition. Test databases replace this one function.
CREATE FUNCTION tenure.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$ SELECT pg_catalog.clock_timestamp() $$;

GRANT EXECUTE ON FUNCTION tenure.clock() TO tenure_control, tenure_operator;

GRANT SELECT ON tenure.schema_migrations TO tenure_control, tenure_operator;

-- Raised by the state guards; 'TN001' is this project's SQLSTATE for "not in the table of transitions".
CREATE FUNCTION tenure.refuse_transition() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    machine text := TG_ARGV[0];
    state_column text := TG_ARGV[1];
    was text := CASE WHEN TG_OP = 'UPDATE' THEN to_jsonb(OLD) ->> state_column ELSE '(none)' END;
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'TN001',
        MESSAGE = format('%s may not go from %s to %s', machine, was, to_jsonb(NEW) ->> state_column);
END
$$;
