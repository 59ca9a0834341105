-- Admits the run of one occurrence, or finds the one that its key admitted before.
SELECT a.run, a.created, a.refusal
FROM tenure.admit_run(
    $1::uuid, $2::uuid, $3::text, $4::text, $5::int, 'cron', $6::text, $7::int, $8::timestamptz, NULL, $9::text, NULL,
    NULL, $10::text, $11::bytea, $12::text::jsonb, $13::text) AS a
