-- Admits runs in the order of the arrays.
SELECT i.ord::int AS ord, a.run, a.created, a.refusal
FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::int[], $6::text[], $7::int[], $8::int[], $9::text[],
            $10::bytea[], $11::text[])
    WITH ORDINALITY AS i (run, attempt, task, revision, key, requested_revision, requested_priority, plan,
                          plan_digest, input, ord)
CROSS JOIN LATERAL tenure.admit_run(
    i.run, i.attempt, $1::text, i.task, i.revision, 'manual', $12::text, $13::int, NULL, NULL, i.key,
    i.requested_revision, i.requested_priority, i.plan, i.plan_digest, i.input::jsonb, $14::text) AS a
