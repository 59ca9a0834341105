"""The calls into the database: one statement per file, one function here per statement.

The role may execute the functions of `ingress_api` and do nothing else. Secrets arrive as digests.
"""

from __future__ import annotations
