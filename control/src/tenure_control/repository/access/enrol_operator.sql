-- Makes an operator with a role and a token; the audit row says that the owner of the database did it.
WITH audit AS (
    INSERT INTO tenure.security_audit_events (at, actor, action, object, detail)
    VALUES (tenure.clock(), 'system', 'enrol', 'operator:' || $1::text,
            jsonb_build_object('project', $2::text, 'role', $3::text, 'token', $4::text))
), made AS (
    INSERT INTO tenure.operators (operator, created_at) VALUES ($1::text, tenure.clock())
    ON CONFLICT (operator) DO NOTHING
), bound AS (
    INSERT INTO tenure.role_bindings (operator, project, role, created_at)
    VALUES ($1::text, $2::text, $3::text, tenure.clock())
    ON CONFLICT (operator, project) DO UPDATE SET role = excluded.role
)
INSERT INTO tenure.operator_tokens (token, operator, digest, created_at)
VALUES ($4::text, $1::text, $5::bytea, tenure.clock())
