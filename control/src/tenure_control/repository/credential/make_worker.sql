-- Makes a worker, unless it exists.
INSERT INTO tenure.workers (worker, created_at) VALUES ($1::text, tenure.clock()) ON CONFLICT (worker) DO NOTHING
