"""Runs between two tries: those that wait for their time, and those that were lost."""
