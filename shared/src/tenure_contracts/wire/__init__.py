"""The messages of the worker protocol: one frozen type per body and answer, in the names of `wire.md` §1.

Requests refuse unknown keys; answers tolerate them, because fields may be added to an answer while an
older worker reads it. Bodies are read with `codec.decode` and written with `codec.encode` alone: those
two know the format of times.
"""
