"""Runs that are to be cancelled and have not ended."""
