"""The `tenure` command.

Subcommands are loaded when they are used, so that an image without control needs none of its libraries, and
says so when it is asked for it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys

import click

from tenure.exit import Stop
from tenure_process.exit import ExitCode

# Name → module, the package whose absence means that this installation cannot do it, and what it does.
COMMANDS = {
    "apply": ("tenure.command.apply", "httpx", "Publish a folder of definitions."),
    "control": ("tenure.command.control", "tenure_control", "The control process and its database."),
    "dev": ("tenure.command.dev", "tenure_control", "The embedded stack, for development."),
    "ingress": ("tenure.command.ingress", "tenure_ingress", "The ingress process."),
    "run": ("tenure.command.run", "httpx", "Runs: start, show, list, wait, cancel, and their events."),
    "trigger": (
        "tenure.command.trigger",
        "httpx",
        "Triggers: list, pause, resume, fire, and when they fire next.",
    ),
    "worker": (
        "tenure.command.worker",
        "tenure_worker",
        "Workers: run, enroll, list and drain them, and their credentials.",
    ),
}


class Tenure(click.Group):
    """The root command; loads the module of a subcommand on its first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every subcommand, whether or not this installation can run it."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command group of that name, or one that says which package is missing."""
        if cmd_name not in COMMANDS:
            return None
        module, package, _ = COMMANDS[cmd_name]
        if importlib.util.find_spec(package) is None:
            return _absent(cmd_name, package)
        command = importlib.import_module(module).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List what there is without importing any of it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][2]) for name in sorted(COMMANDS)])


def _absent(name: str, package: str) -> click.Command:
    def refuse() -> None:
        raise Stop(f"this installation has no {package}: `tenure {name}` is not part of it", ExitCode.USAGE)

    return click.Command(
        name, callback=refuse, add_help_option=False, context_settings={"ignore_unknown_options": True}
    )


@click.command(cls=Tenure, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tenure", message="tenure %(version)s")
def root() -> None:
    """Run scheduled tasks on remote workers, and never take silence for proof.

    \b
    Example:
      tenure dev --background
      tenure apply -f docs/demo
      tenure run start --project demo --task checksum
    """


def main() -> None:
    """Run the command line. Exit: 0 done, 1 refused or failed, 64 usage, 75 temporary, 78 configuration."""
    try:
        code = root(standalone_mode=False)
    except Stop as stop:
        stop.say()
        code = stop.code
    except click.Abort:
        code = 1
    except click.UsageError as error:
        error.show()
        code = ExitCode.USAGE
    except click.ClickException as error:
        error.show()
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
