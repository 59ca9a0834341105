-- Authentication by itself, and what became of those who failed it.

-- Whether a credential is good: for requests of which nothing else reaches the database.
CREATE FUNCTION ingress_api.authenticate_v1(p_credential text, p_secret bytea, OUT refusal text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF tenure.authenticate_worker(p_credential, p_secret, tenure.clock()) IS NULL THEN
        refusal := 'credential_refused';
    END IF;
END
$$;

-- Serves record_refusals_v1, which counts the newest of its own rows.
CREATE INDEX security_audit_events_refusals ON tenure.security_audit_events (at)
    WHERE action = 'authentication.refusals';

-- One process's refusals of a minute, as one audit row. The only function of this schema without a caller's proof:
-- those whom it reports have none. Whoever holds the ingress's password can therefore write rows of this one kind with
-- any counts, and no others: actor, action and form of the object are fixed here, there is no request id that could
-- stand in an operator's way, a report has at most 4 KiB, and a minute at most 120 of them for each connection that
-- keeps its transaction open (others do not see its rows before it commits; a lock would let it stop them). Nothing
-- reads them but people; no decision depends on them.
--
-- recorded: false when the report is none, is too large, or one too many.
CREATE FUNCTION ingress_api.record_refusals_v1(p_process uuid, p_report jsonb, OUT recorded boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now timestamptz := tenure.clock();
BEGIN
    recorded := (p_process IS NOT NULL AND jsonb_typeof(p_report) = 'object' AND octet_length(p_report::text) <= 4096)
                IS TRUE
        AND (SELECT count(*) FROM tenure.security_audit_events e
             WHERE e.action = 'authentication.refusals' AND e.at > now - interval '1 minute') < 120;
    IF recorded THEN
        INSERT INTO tenure.security_audit_events (at, actor, action, object, detail)
        VALUES (now, 'ingress', 'authentication.refusals', 'process:' || p_process, p_report);
    END IF;
END
$$;

GRANT EXECUTE ON FUNCTION
    ingress_api.authenticate_v1(text, bytea),
    ingress_api.record_refusals_v1(uuid, jsonb) TO tenure_ingress;
