-- Lists every privilege that our role has, from whomever, on objects that are neither the system's nor an extension's.
WITH spaces AS (
    SELECT oid, nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
),
of_extensions AS (
    SELECT classid, objid FROM pg_depend WHERE deptype = 'e'
),
relations AS (
    SELECT pg_class.oid, format('%s.%s', nspname, relname) AS object, relkind
      FROM pg_class JOIN spaces ON spaces.oid = relnamespace
     WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
       AND ('pg_class'::regclass, pg_class.oid) NOT IN (SELECT classid, objid FROM of_extensions)
),
tables AS (
    SELECT oid, object, privilege, has_table_privilege(oid, privilege) AS whole
      FROM relations
     CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']
                       || CASE WHEN current_setting('server_version_num')::int >= 170000
                               THEN ARRAY['MAINTAIN'] ELSE '{}' END) AS privilege
     WHERE relkind <> 'S'
)
SELECT 'table' AS kind, object, privilege, NULL AS column_name FROM tables WHERE whole
UNION ALL
SELECT 'table', object, privilege, attname::text
  FROM tables JOIN pg_attribute ON attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
 WHERE NOT whole AND privilege IN ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES')
   AND has_column_privilege(tables.oid, attnum, privilege)
UNION ALL
SELECT 'sequence', object, privilege, NULL
  FROM relations CROSS JOIN unnest(ARRAY['USAGE', 'SELECT', 'UPDATE']) AS privilege
 WHERE relkind = 'S' AND has_sequence_privilege(oid, privilege)
UNION ALL
SELECT 'function', format('%s.%s', nspname, proname), 'EXECUTE', NULL
  FROM pg_proc JOIN spaces ON spaces.oid = pronamespace
 WHERE has_function_privilege(pg_proc.oid, 'EXECUTE')
   AND (nspname IN ('tenure', 'ingress_api') OR has_schema_privilege(spaces.oid, 'USAGE'))
   AND ('pg_proc'::regclass, pg_proc.oid) NOT IN (SELECT classid, objid FROM of_extensions)
UNION ALL
SELECT 'schema', nspname::text, privilege, NULL
  FROM spaces CROSS JOIN unnest(ARRAY['USAGE', 'CREATE']) AS privilege
 WHERE has_schema_privilege(oid, privilege)
UNION ALL
SELECT 'database', current_database()::text, privilege, NULL
  FROM unnest(ARRAY['CONNECT', 'CREATE', 'TEMPORARY']) AS privilege
 WHERE has_database_privilege(current_database(), privilege)
