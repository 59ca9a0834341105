-- Says what kind of server this is, who we are on it, and which settings our role has here.
SELECT current_setting('server_version_num')::int / 10000 AS major,
       pg_is_in_recovery() OR current_setting('transaction_read_only')::bool AS read_only,
       current_setting('server_encoding') AS encoding,
       current_user::text AS role,
       current_database()::text AS database,
       rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls AS privileged,
       EXISTS (SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                WHERE nspname = 'tenure' AND relname = 'schema_migrations') AS migrated,
       ARRAY(SELECT granted.rolname::text
               FROM pg_auth_members
               JOIN pg_roles AS granted ON granted.oid = roleid
              WHERE member = self.oid ORDER BY 1) AS memberships,
       (SELECT jsonb_object_agg(name, setting) FROM pg_settings WHERE name = ANY ($1::text[])) AS settings
  FROM pg_roles AS self
 WHERE rolname = current_user
