"""Fresh attempts of queued runs, made under the run lock."""
