"""Runs and workers as operators see them, with what needs their attention."""
