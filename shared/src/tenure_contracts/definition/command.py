"""What a task executes: exactly one of command and handler, and bounds on every text of it."""

from __future__ import annotations

import re
from typing import Final

from tenure_contracts import bounds
from tenure_contracts.definition import shape
from tenure_contracts.definition.declare import TaskDefinition
from tenure_contracts.fault import Faults

TASK_ROOTS: Final = frozenset({"input", "scheduled_for"})
"""Where the templates of a task may begin."""

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMMAND_ONLY: Final = ("env", "cwd", "stdin", "secrets")


def check_command(definition: TaskDefinition, faults: Faults) -> None:
    """Note the faults of what is executed, templates included."""
    if (definition.command is None) == (definition.handler is None):
        faults.add("needs exactly one of `command` and `handler`")
    if definition.handler is not None:
        _check_handler(definition, faults)
    elif definition.arguments is not None:
        faults.at("arguments").add("belongs to a handler; a command has its words in `command`")
    _check_argv(definition.command, faults.at("command"))
    _check_environment(definition, faults)
    _check_text(definition.cwd, bounds.ARGUMENT_CHARACTERS, faults.at("cwd"))
    _check_text(definition.stdin, bounds.STDIN_CHARACTERS, faults.at("stdin"))


def _check_handler(definition: TaskDefinition, faults: Faults) -> None:
    for part in _COMMAND_ONLY:
        if getattr(definition, part):
            faults.at(part).add("belongs to a command; a handler has `arguments`")
    if shape.check_json(definition.arguments, faults.at("arguments")):
        shape.check_templates(definition.arguments, TASK_ROOTS, faults.at("arguments"))


def _check_argv(argv: tuple[str, ...] | None, faults: Faults) -> None:
    if argv is None:
        return
    if not argv or not argv[0]:
        faults.add("needs at least the program to execute", list(argv))
    if len(argv) > bounds.ARGUMENTS:
        faults.add(f"has more than {bounds.ARGUMENTS} words", len(argv))
    for index, word in enumerate(argv):
        _check_text(word, bounds.ARGUMENT_CHARACTERS, faults.at(index))


def _check_environment(definition: TaskDefinition, faults: Faults) -> None:
    environment = faults.at("env")
    if len(definition.env) > bounds.ENVIRONMENT:
        environment.add(f"has more than {bounds.ENVIRONMENT} variables", len(definition.env))
    for name, value in definition.env.items():
        if not _VARIABLE.fullmatch(name):
            environment.at(name).add(
                "is not a name of an environment variable: letters, digits and '_'", name
            )
        _check_text(value, bounds.ARGUMENT_CHARACTERS, environment.at(name))
    if len(definition.secrets) > bounds.SECRETS:
        faults.at("secrets").add(f"has more than {bounds.SECRETS} names", len(definition.secrets))
    if len(set(definition.secrets)) != len(definition.secrets):
        faults.at("secrets").add("names a secret twice", list(definition.secrets))


def _check_text(text: str | None, limit: int, faults: Faults) -> None:
    if text is None:
        return
    if len(text) > limit:
        faults.add(f"has {len(text)} characters, at most {limit}")
    if shape.check_json(text, faults):
        shape.check_templates(text, TASK_ROOTS, faults)
