-- Makes one fresh, dispatchable attempt of a run whose lock the caller holds.
SELECT tenure.create_attempt($1::uuid, $2::uuid, $3::text, $4::timestamptz)
