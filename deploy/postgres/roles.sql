-- The five roles of Tenure and their settings in this database. Run once per database as its administrator, before
-- the first migration; running it again changes nothing. It sets no passwords: give the four login roles theirs, or
-- let them in by certificate or peer authentication.

DO $$
DECLARE
    login text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tenure_owner') THEN
        CREATE ROLE tenure_owner NOLOGIN;
    END IF;
    FOREACH login IN ARRAY ARRAY['tenure_migrate', 'tenure_control', 'tenure_operator', 'tenure_ingress'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
            EXECUTE format('CREATE ROLE %I LOGIN NOINHERIT', login);
        END IF;
    END LOOP;
END
$$;

-- Migrations become the owner; nobody else may.
GRANT tenure_owner TO tenure_migrate;

DO $$
DECLARE
    database text := current_database();
    login text;
BEGIN
    EXECUTE format('REVOKE CREATE, TEMPORARY ON DATABASE %I FROM PUBLIC', database);
    EXECUTE format('GRANT CREATE ON DATABASE %I TO tenure_owner', database);
    REVOKE CREATE ON SCHEMA public FROM PUBLIC;
    FOREACH login IN ARRAY ARRAY['tenure_migrate', 'tenure_control', 'tenure_operator', 'tenure_ingress'] LOOP
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', database, login);
        -- Settings belong to the role: a pooler refuses or silently drops what a driver sends when it connects.
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET statement_timeout = %L', login, database,
                       CASE login WHEN 'tenure_migrate' THEN '0' ELSE '5s' END);
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET lock_timeout = %L', login, database, '1s');
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET idle_in_transaction_session_timeout = %L', login, database,
                       '10s');
        -- Arrays of 200 ids make custom plans choose sequential scans, and just-in-time compilation costs more than
        -- any of our statements.
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET plan_cache_mode = %L', login, database, 'force_generic_plan');
        EXECUTE format('ALTER ROLE %I IN DATABASE %I SET jit = %L', login, database, 'off');
    END LOOP;
END
$$;
