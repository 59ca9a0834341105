"""Attempts whose authority ended: found, returned when they never started, and noted when they did."""
