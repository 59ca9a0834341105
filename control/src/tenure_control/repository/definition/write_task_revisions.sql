-- Appends task revisions.
INSERT INTO tenure.task_revisions (project, task, revision, digest, spec, class, priority, timeout_us, retry,
                                   mutation_id, created_by, created_at)
SELECT $1::text, n.task, n.revision, n.digest, n.spec, n.class, n.priority, n.timeout_us, n.retry::jsonb,
       n.mutation, $11::text, $12::timestamptz
FROM unnest($2::text[], $3::int[], $4::bytea[], $5::text[], $6::int[], $7::int[], $8::bigint[], $9::text[],
            $10::uuid[])
    AS n (task, revision, digest, spec, class, priority, timeout_us, retry, mutation)
