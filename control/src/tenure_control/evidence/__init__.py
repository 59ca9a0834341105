"""Evidence: what is known about started work whose lease ended, asked from those who can know.

A provider answers for one kind of executor. None is registered yet, so every question is answered `unknown`
because the provider is unavailable, and the work waits. Silence is never evidence.
"""
