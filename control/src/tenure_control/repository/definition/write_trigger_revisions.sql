-- Appends trigger revisions.
INSERT INTO tenure.trigger_revisions (project, trigger, revision, digest, spec, task, task_revision, task_digest,
                                      mutation_id, created_by, created_at)
SELECT $1::text, n.trigger, n.revision, n.digest, n.spec, n.task, n.task_revision, n.task_digest, n.mutation,
       $10::text, $11::timestamptz
FROM unnest($2::text[], $3::int[], $4::bytea[], $5::text[], $6::text[], $7::int[], $8::bytea[], $9::uuid[])
    AS n (trigger, revision, digest, spec, task, task_revision, task_digest, mutation)
