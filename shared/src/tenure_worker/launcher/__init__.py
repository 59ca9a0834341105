"""Starting a command so that it outlives the agent and its end is never lost.

`prepare` creates the launcher blocked on a pipe; the caller journals its identity, then says `go`. Whoever
dies in between starts nothing: the launcher reads end of file and leaves. From `go` on, the launcher alone
holds the receipt's lock, waits for the command and writes its exit code, whether or not an agent is left.

The exit code is a shell's: a command ended by signal N is reported as 128 + N.
"""

from tenure_worker.launcher.process import Command, Launcher, prepare
from tenure_worker.launcher.receipt import Receipt, Started

__all__ = ["Command", "Launcher", "Receipt", "Started", "prepare"]
