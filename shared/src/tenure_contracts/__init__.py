"""What both deployables and every worker agree on: words, tables, grammars, bounds and messages.

Everything here is pure: the standard library and msgspec, no input or output, no clock, no randomness.
"""
