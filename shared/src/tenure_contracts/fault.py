"""Faults of definitions: where, what was read, what would be right; collected, not only the first."""

from __future__ import annotations

from collections.abc import Iterable


class DefinitionError(ValueError):
    """One fault. `path` is a JSON path, `reason` says what is wrong and what would be right."""

    def __init__(self, path: str, reason: str, read: object = None) -> None:
        shown = "" if read is None else f" (read {_short(read)})"
        super().__init__(f"{path}: {reason}{shown}")
        self.path = path
        self.reason = reason
        self.read = read

    def member(self) -> dict[str, object]:
        """The fault as an item of a problem document's `errors`."""
        return {
            "path": self.path,
            "reason": self.reason,
            "read": None if self.read is None else _short(self.read),
        }


class DefinitionErrors(ValueError):  # noqa: N818 - the plural says what it is
    """All faults that were found in one document, in the order of the document."""

    def __init__(self, errors: Iterable[DefinitionError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(str(error) for error in self.errors))


class Faults:
    """Collects the faults below one path while a definition is compiled on, with stand-in values."""

    def __init__(self, path: str = "$") -> None:
        self.path = path
        self._errors: list[DefinitionError] = []

    def at(self, *steps: str | int) -> Faults:
        """The collector of a part: it shares the list, its path is longer."""
        part = Faults(
            self.path + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
        )
        part._errors = self._errors
        return part

    def at_path(self, path: str) -> Faults:
        """The collector of the part at a JSON path that begins with `$` here."""
        part = Faults(self.path + path.removeprefix("$"))
        part._errors = self._errors
        return part

    def add(self, reason: str, read: object = None) -> None:
        """Note one fault here."""
        self._errors.append(DefinitionError(self.path, reason, read))

    def extend(self, errors: Iterable[DefinitionError]) -> None:
        """Take over faults whose paths are complete already."""
        self._errors.extend(errors)

    def raise_if_any(self) -> None:
        """Raise DefinitionErrors when something was noted."""
        if self._errors:
            raise DefinitionErrors(self._errors)


def _short(read: object) -> str:
    text = repr(read)
    return text if len(text) <= 80 else text[:79] + "…"
