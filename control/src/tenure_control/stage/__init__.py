"""The stages of the cadences: each looks, decides and commits, one candidate after the other.

A stage is a function without state: it gets its database and its bounds, runs once, and returns what it did.
"""
