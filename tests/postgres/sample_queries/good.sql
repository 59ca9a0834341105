-- Says what it does.
SELECT $1::int
