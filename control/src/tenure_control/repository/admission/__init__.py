"""Queued runs without an attempt."""
