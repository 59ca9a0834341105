"""Several processes that serve one address, and the parent that keeps them.

The parent's side is `parent` (the service), `family` and `child`, with `reservation`, `ask` and `probe` as
its means; the side of the processes is `handed` and `orders`.
"""

from __future__ import annotations
