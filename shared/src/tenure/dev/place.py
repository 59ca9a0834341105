"""The files of a stack."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tenure.where import ENV_FILE


@dataclass(frozen=True)
class Place:
    """The folder of a stack, `.tenure` below the folder it is started in."""

    root: Path

    @classmethod
    def below(cls, folder: Path) -> Place:
        """The stack of a folder; its own folder is made, for its owner only."""
        root = folder.resolve() / ENV_FILE.parent
        root.mkdir(mode=0o700, exist_ok=True)
        return cls(root)

    @property
    def env(self) -> Path:
        """What a shell sources; there is one exactly while the stack is up. Readable by its owner only."""
        return self.root / ENV_FILE.name

    @property
    def postgres(self) -> Path:
        """The embedded server."""
        return self.root / "pg"

    @property
    def ports(self) -> Path:
        """Where control, ingress and its probe listened, kept from one start to the next."""
        return self.root / "ports"

    @property
    def operator_token(self) -> Path:
        """The token of the stack's owner, kept from one start to the next."""
        return self.root / "operator.token"

    def log(self, process: str) -> Path:
        """The log of one process."""
        folder = self.root / "log"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / f"{process}.log"

    def pid(self, process: str) -> Path:
        """The process id of one running process; `dev` is the stack itself."""
        return self.root / f"{process}.pid"


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    draft = file.with_name(f"{file.name}.new")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)
