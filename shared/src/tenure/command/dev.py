"""`tenure dev`: the embedded stack, in the foreground or in the background."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import click
import trio

from tenure import output
from tenure.dev import background, stack
from tenure.dev.place import Place
from tenure.exit import Stop


@click.command()
@click.option(
    "--root", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Where .tenure lies."
)
@click.option("--no-restart", is_flag=True, help="Leave a process down that ended.")
@click.option(
    "--background", "in_background", is_flag=True, help="Return when everything is ready (make up)."
)
@click.option("--stop", is_flag=True, help="Stop the stack of this folder; its data stays (make down).")
def command(root: Path, no_restart: bool, in_background: bool, stop: bool) -> None:
    """Run PostgreSQL, control and ingress on this machine, for development.

    Everything lies in `.tenure`; while the stack is up, `.tenure/env` can be sourced by a shell. A process
    that is killed is started again. TENURE_DATABASE_URL, an administrator's address, uses that server instead
    of the embedded one.

    \b
    Example:
      tenure dev &
      . .tenure/env
    """
    root.mkdir(parents=True, exist_ok=True)
    place = Place.below(root)
    if stop:
        was_up = background.stop(place)
        output.say(f"the stack is down; its data stays in {place.root}" if was_up else "no stack is up here")
    elif in_background:
        background.start(place, ["--no-restart"] if no_restart else [])
        output.say(f"the stack is up: `. {place.env}` in a shell; `make down` stops it")
    else:
        wishes = stack.Wishes(
            restart=not no_restart,
            database_url=os.environ.get("TENURE_DATABASE_URL"),
            settings={name: value for name, value in os.environ.items() if name.startswith("TENURE_")},
        )
        trio.run(_foreground, place, wishes)


async def _foreground(place: Place, wishes: stack.Wishes) -> None:
    """Until the first signal; whatever made the stack fail is told in one sentence."""
    failure: Stop | None = None
    with background.owned(place), trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        try:
            async with trio.open_nursery() as nursery:
                environment = await nursery.start(partial(stack.run, place, wishes))
                output.say(f"control {environment['TENURE_CONTROL_URL']}")
                output.say(f"ingress {environment['TENURE_INGRESS_URL']}")
                output.say(f"ready: `. {place.env}` in a shell; Ctrl-C stops everything")
                async for _ in signals:
                    nursery.cancel_scope.cancel()
                    break
        except* Stop as stops:
            failure = _first(stops)
    # Raised out here: some versions of Python 3.11 put what an `except*` raises into a group of its own.
    if failure is not None:
        raise failure


def _first(group: BaseExceptionGroup[Stop]) -> Stop:
    found = group.exceptions[0]
    return found if isinstance(found, Stop) else _first(found)
