"""Credentials of workers: append-only versions, of which the newest counts."""
