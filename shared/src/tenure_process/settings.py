"""Settings by their names in the environment, read one by one; everything that is wrong is said at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tenure_contracts.duration import DurationError, format_duration, parse_duration
from tenure_http.tls import TlsMaterial
from tenure_process.address import Address
from tenure_process.source import SettingsError, Sources

__all__ = ["Reader", "SettingsError"]


class Reader:
    """Reads one name after the other, collecting what is wrong instead of stopping at the first.

    Names are given in full. What begins with `prefix` belongs to this process alone, so a name there that
    nobody reads is a mistake; `others` are the exceptions. An empty text counts as not given.
    """

    def __init__(self, environ: Mapping[str, str], prefix: str, *, others: Iterable[str] = ()) -> None:
        self._environ = environ
        self._prefix = prefix
        self._known = set(others)
        self._faults: list[str] = []

    def text(self, name: str) -> str | None:
        """The text of a name, None when it is not given."""
        self._known.add(name)
        return self._environ.get(name) or None

    def required(self, name: str, example: str) -> str:
        """The text of a name that has no default."""
        value = self.text(name)
        if value is None:
            self.fault(f"{name} is missing: give it as {example}")
        return value or ""

    def address(self, name: str, default: Address) -> Address:
        """HOST:PORT, where an IPv6 host may stand in brackets."""
        value = self.text(name)
        if value is None:
            return default
        host, _, port = value.rpartition(":")
        if not host or not _is_number(port, 0, 65535):
            self.fault(f"{self._named(name)} must be HOST:PORT, not {value!r}")
            return default
        return Address(host.strip("[]"), int(port))

    def seconds(self, name: str, default: float, low: float = 0.0, high: float = math.inf) -> float:
        """A duration such as `90s`, in seconds, from `low` to `high`, both included."""
        value = self.text(name)
        try:
            found = default if value is None else parse_duration(value) / 1e6
        except DurationError as error:
            self.fault(f"{self._named(name)}: {error}")
            return default
        if value is not None and not low <= found <= high:
            bounds = " to ".join(format_duration(round(each * 1e6)) for each in (low, high))
            self.fault(f"{self._named(name)} must be from {bounds}, not {value!r}")
            return default
        return found

    def share(self, name: str, default: float, low: float, high: float) -> float:
        """A share such as `10%`, of whole per cents, as a number from `low` to `high`, both included."""
        value = self.text(name)
        if value is None:
            return default
        least, most = round(low * 100), round(high * 100)
        if not value.endswith("%") or not _is_number(value[:-1], least, most):
            self.fault(f"{self._named(name)} must be from {least}% to {most}%, not {value!r}")
            return default
        return int(value[:-1]) / 100

    def count(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        value = self.text(name)
        if value is None:
            return default
        if not _is_number(value, low, high):
            self.fault(f"{self._named(name)} must be a whole number from {low} to {high}, not {value!r}")
            return default
        return int(value)

    def yes(self, name: str) -> bool:
        """`yes` or `no`; not given means no."""
        value = self.text(name) or "no"
        if value not in ("yes", "no"):
            self.fault(f"{self._named(name)} must be yes or no, not {value!r}")
        return value == "yes"

    def tls(self) -> TlsMaterial | None:
        """`TLS_CERTIFICATE`, `TLS_KEY` and `TLS_CLIENT_CA` behind the prefix; None when none is given."""
        names = [self._prefix + name for name in ("TLS_CERTIFICATE", "TLS_KEY", "TLS_CLIENT_CA")]
        certificate, key, client_ca = map(self.text, names)
        if certificate is None and key is None and client_ca is None:
            return None
        if certificate is None or key is None:
            self.fault(f"{names[0]} and {names[1]} belong together")
            return None
        return TlsMaterial(Path(certificate), Path(key), Path(client_ca) if client_ca else None)

    def plaintext(self, listen: Address, tls: TlsMaterial | None) -> bool:
        """`INSECURE_PLAINTEXT` behind the prefix, without which a port that others can reach needs TLS."""
        allowed = self.yes(f"{self._prefix}INSECURE_PLAINTEXT")
        if tls is None and not listen.loopback and not allowed:
            self.fault(
                f"{self._prefix}LISTEN is {listen}, which other machines can reach, without TLS: give "
                f"{self._prefix}TLS_CERTIFICATE and {self._prefix}TLS_KEY, "
                f"or say {self._prefix}INSECURE_PLAINTEXT=yes"
            )
        return allowed

    def fault(self, sentence: str) -> None:
        """Something is wrong; `check` tells it."""
        self._faults.append(sentence)

    def check(self) -> None:
        """Raises SettingsError naming all that is wrong, once everything was read."""
        faults = [*self._faults, *self._unknown()]
        if faults:
            raise SettingsError("; ".join(faults))

    def _unknown(self) -> Iterator[str]:
        for name in sorted(self._environ):
            if name.startswith(self._prefix) and name not in self._known:
                yield f"{self._named(name)} is not a setting"

    def _named(self, name: str) -> str:
        """A name as it is found: with the flag or the file that says it, unless that is the environment."""
        given = self._environ
        origin = given.origin(name) if isinstance(given, Sources) and name in given else "environment"
        return name if origin == "environment" else f"{name} ({origin})"


def _is_number(value: str, low: int, high: int) -> bool:
    # The length comes first: int() takes time for long texts, and refuses the longest with another error.
    return value.isascii() and value.isdecimal() and len(value) < 10 and low <= int(value) <= high
