"""The messages of the operator API: one frozen type per body and answer, in the names of `wire.md` §2.

They follow the discipline of the worker protocol's messages, and are read and written with the same
`wire.codec`.
"""
