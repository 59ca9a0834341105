-- What the replicas of the ingress ask once a second on behalf of all pulls that wait.

-- Which placement classes have dispatchable attempts, and how many each, counted no further than p_limit. Goes from
-- class to class in the index: the cost is that of the classes with work, however long their queues are. It reads only.
--
-- It asks for no proof, because it is asked for many callers at once and answers none of them: what it tells goes no
-- further than to decide which pulls claim, and those prove themselves. So whoever holds the ingress's password learns
-- numbers of classes and counts from it; no name, no id, nothing that a lease or a run could be recognised by.
CREATE FUNCTION ingress_api.dispatchable_v1(p_limit integer) RETURNS TABLE (class integer, attempts integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    behind integer := 0;
BEGIN
    LOOP
        SELECT a.class INTO behind FROM tenure.run_attempts a
        WHERE a.dispatchable AND a.class > behind
        ORDER BY a.class LIMIT 1;
        EXIT WHEN behind IS NULL;
        class := behind;
        SELECT count(*) INTO attempts FROM (
            SELECT FROM tenure.run_attempts a WHERE a.dispatchable AND a.class = behind LIMIT p_limit) counted;
        RETURN NEXT;
    END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION ingress_api.dispatchable_v1(integer) TO tenure_ingress;
