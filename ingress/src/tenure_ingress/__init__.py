"""Ingress: the only thing a worker can reach. It bounds and checks requests, calls database functions that
decide, and answers. It has no right on any table and keeps no decision in memory.
"""

from __future__ import annotations
