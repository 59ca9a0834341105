"""The worker kit: the client half of the protocol, as an agent that executes commands.

`run_worker` is what the command line calls; `run_agent` is the composition root, for whoever brings signals
of their own. Runs under trio and asyncio alike.
"""
