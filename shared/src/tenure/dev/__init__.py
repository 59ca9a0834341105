"""The embedded stack: PostgreSQL, control and ingress on one machine, for development and the demo.

Everything lies below one folder (`.tenure`): the database, one log per process, and `env`, which a shell can
source. The folder can be deleted when the stack is down; nothing else on the machine is touched.
"""

from __future__ import annotations
