"""Templates: `{{ input.day }}` inside one argument, never through a shell.

A template is parsed when it is published, so that a typing mistake is refused then, and rendered when a
run is admitted. A path begins at `input`, `scheduled_for` or `steps` and goes on with `.name`, `[0]` or
`["any key"]`. Nothing else is computed: no filters, no defaults, no code. A missing path is an error that
names it. `{{ "{{" }}` writes two literal braces.

Inside text a value is written as its JSON form, except that text stands for itself; null is refused. A
JSON string that is one template as a whole becomes the value itself, with its type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from tenure_contracts import bounds
from tenure_contracts.plan import StoredPlan

Key = str | int
Context = Mapping[str, Any]
"""Values by root: `input`, `scheduled_for` (see `scheduled_fields`), `steps`."""

ROOTS: Final = frozenset({"input", "scheduled_for", "steps"})

_HOLE: Final = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_BRACES: Final = '"{{"'
_ROOT: Final = re.compile(r"[a-z_]+")
_STEP: Final = re.compile(r'\.([A-Za-z0-9_][A-Za-z0-9_-]*)|\[([0-9]{1,9})\]|\["((?:[^"\\]|\\.)*)"\]')


class TemplateError(ValueError):
    """A template cannot be parsed, or has no value in this context."""


@dataclass(frozen=True, slots=True)
class Path:
    """One hole: where its value is found. `text` is the path as it was written."""

    text: str
    keys: tuple[Key, ...]

    @property
    def root(self) -> str:
        """`input`, `scheduled_for` or `steps`."""
        return str(self.keys[0])


Parts = tuple[str | Path, ...]


def parse(text: str) -> Parts:
    """Literal text and holes, in order. Raises TemplateError that shows the hole."""
    parts: list[str | Path] = []
    end = 0
    for hole in _HOLE.finditer(text):
        parts += (_literal(text[end : hole.start()]), _hole(hole[1].strip()))
        end = hole.end()
    parts.append(_literal(text[end:]))
    return tuple(part for part in parts if part != "")


def paths(value: object) -> Iterator[Path]:
    """All holes in a text, or in the texts of a JSON value. Raises TemplateError."""
    if isinstance(value, str):
        yield from (part for part in parse(value) if isinstance(part, Path))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from paths(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from paths(item)


def render_text(text: str, context: Context) -> str:
    """The text with its holes filled. Raises TemplateError naming the path that has no value."""
    return "".join(part if isinstance(part, str) else _written(part, context) for part in parse(text))


def render_value(value: Any, context: Context) -> Any:
    """A JSON value with the holes of its texts filled; keys are taken as they are."""
    if isinstance(value, str):
        parts = parse(value)
        if len(parts) == 1 and isinstance(parts[0], Path):
            return _found(parts[0], context)
        return render_text(value, context)
    if isinstance(value, Mapping):
        return {key: render_value(item, context) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [render_value(item, context) for item in value]
    return value


def render_plan(plan: StoredPlan, context: Context) -> StoredPlan:
    """The plan of one run. Raises TemplateError that names the part, and the path or the bound."""

    def text(part: str, value: str, limit: int = bounds.ARGUMENT_CHARACTERS) -> str:
        rendered: str = _named(part, lambda: render_text(value, context))
        if len(rendered) > limit:
            raise TemplateError(f"{part}: renders to {len(rendered)} characters, at most {limit}")
        return rendered

    return msgspec.structs.replace(
        plan,
        argv=None if plan.argv is None else tuple(text(f"argv[{i}]", a) for i, a in enumerate(plan.argv)),
        env={name: text(f"env.{name}", value) for name, value in plan.env.items()},
        cwd=None if plan.cwd is None else text("cwd", plan.cwd),
        stdin=None if plan.stdin is None else text("stdin", plan.stdin, bounds.STDIN_CHARACTERS),
        arguments=_named("arguments", lambda: render_value(plan.arguments, context)),
    )


def scheduled_fields(occurrence: datetime, timezone: str) -> dict[str, str | int]:
    """What `scheduled_for` offers: date and time on the trigger's wall clock, and the moment itself.

    Raises ZoneInfoNotFoundError for an unknown zone.
    """
    local = occurrence.astimezone(ZoneInfo(timezone))
    return {
        "date": local.date().isoformat(),
        "time": local.time().isoformat("seconds"),
        "iso": local.isoformat(timespec="seconds"),
        "utc": occurrence.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "unix": int(occurrence.timestamp()),
        "timezone": timezone,
    }


def _literal(text: str) -> str:
    if "{{" in text:
        raise TemplateError(
            f'`{text[text.index("{{") :][:40]}` is not closed; write {{{{ "{{{{" }}}} for braces'
        )
    return text


def _hole(text: str) -> str | Path:
    if text == _BRACES:
        return "{{"
    root = _ROOT.match(text)
    if root is None or root[0] not in ROOTS:
        raise TemplateError(f"`{{{{ {text[:60]} }}}}` must begin with {', '.join(sorted(ROOTS))}")
    keys: list[Key] = [root[0]]
    end = root.end()
    while end < len(text):
        step = _STEP.match(text, end)
        if step is None:
            raise TemplateError(f"`{{{{ {text[:60]} }}}}` is not a path such as input.day or input.rows[0]")
        keys.append(_key(step))
        end = step.end()
    return Path(text, tuple(keys))


def _key(step: re.Match[str]) -> Key:
    name, index, quoted = step.groups()
    if index is not None:
        return int(index)
    return str(name) if name is not None else re.sub(r"\\(.)", r"\1", quoted)


def _found(path: Path, context: Context) -> Any:
    value: Any = context
    for key in path.keys:
        try:
            value = _entered(value, key)
        except LookupError as error:
            raise TemplateError(f"`{path.text}` has no value: {key!r} is missing") from error
    return value


def _entered(value: Any, key: Key) -> Any:
    # Text is a sequence too, and a path must not pick letters out of it.
    if isinstance(value, Mapping) and isinstance(key, str):
        return value[key]
    if isinstance(value, list | tuple) and isinstance(key, int):
        return value[key]
    raise LookupError(key)


def _written(path: Path, context: Context) -> str:
    value = _found(path, context)
    if value is None:
        raise TemplateError(f"`{path.text}` is null, which has no text")
    return str(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def _named(part: str, render: Callable[[], Any]) -> Any:
    try:
        return render()
    except TemplateError as error:
        raise TemplateError(f"{part}: {error}") from error
