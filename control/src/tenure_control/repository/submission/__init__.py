"""Admitting runs that somebody asked for."""
