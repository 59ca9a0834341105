"""Projects and what is published in them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from tenure_contracts.wire.codec import Answer, Request
from tenure_contracts.wire.field import Instant, Name

DefinitionKind = Literal["task", "trigger", "workflow"]


class PutProject(Request, frozen=True, kw_only=True):
    """Create a project, or change its share."""

    weight: Annotated[int, Meta(ge=1, le=1000)] = 1


class Project(Answer, frozen=True, kw_only=True):
    """A project."""

    project: str
    state: Literal["active", "archived"]
    weight: int
    version: int
    created_at: Instant


class Published(Answer, frozen=True, kw_only=True):
    """A definition's current (or asked-for) revision. `definition` is its canonical specification."""

    name: str
    kind: DefinitionKind
    project: str
    revision: int
    digest: str
    state: Literal["active", "paused", "archived"]
    created_at: Instant
    definition: Any
    task: str | UnsetType = UNSET
    task_revision: int | UnsetType = UNSET
    workflow: str | UnsetType = UNSET
    workflow_revision: int | UnsetType = UNSET
    next_fire_at: list[Instant] | UnsetType = UNSET
    last_fire_at: Instant | UnsetType | None = UNSET


class Apply(Request, frozen=True, kw_only=True):
    """Publish a whole directory atomically; read `definitions` with `definition.read_project`."""

    project: Name
    definitions: dict[str, Any]
    dry_run: bool = False
    prune: bool = False


class Change(Answer, frozen=True, kw_only=True):
    """What apply does, or would do, to one definition. `diff` has a pair of values per changed path."""

    kind: DefinitionKind
    name: str
    change: Literal["create", "update", "none", "archive"]
    revision: int | None = None
    diff: Any = None


class Applied(Answer, frozen=True, kw_only=True):
    """Answer of apply."""

    changes: list[Change]
    dry_run: bool = False
