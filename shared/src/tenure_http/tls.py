"""TLS 1.3 over trio. The certificate proves the transport only; who a caller is, a token says."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import trio


class TlsError(Exception):
    """TLS material that cannot be served with. The message names the file and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class TlsMaterial:
    """Where a server's TLS material is: PEM files, read whenever a context is built.

    `certificate` has the chain, leaf first. With `client_ca` every client must show a certificate it signed.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def context(self) -> ssl.SSLContext:
        """A fresh server context.

        Raises:
            TlsError: a file is missing or unreadable, or key and certificate do not belong together.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.set_alpn_protocols(["http/1.1"])
        # A resumed session would skip the check of the client's certificate against a CA that was replaced.
        context.num_tickets = 0
        self._load_chain(context)
        if self.client_ca is not None:
            _require_clients_of(context, self.client_ca)
        return context

    def _load_chain(self, context: ssl.SSLContext) -> None:
        for path in (self.certificate, self.key):
            _check_readable(path)
        try:
            # An empty password instead of a prompt on the terminal for a key that wants one.
            context.load_cert_chain(self.certificate, self.key, password="")
        except (ssl.SSLError, OSError) as error:
            raise TlsError(f"{self.certificate} and {self.key} are no PEM pair: {error}") from error


class TlsSwitch:
    """The context that new connections get. Connections that exist keep theirs to their end."""

    def __init__(self, material: TlsMaterial) -> None:
        self.context = material.context()

    def replace(self, material: TlsMaterial) -> None:
        """Serves with other material from now on, or raises `TlsError` and changes nothing."""
        self.context = material.context()


class TlsListener(trio.abc.Listener[trio.SSLStream[trio.abc.Stream]]):
    """Wraps what another listener accepts. The handshake is the connection's own work, under its deadline."""

    def __init__(self, listener: trio.abc.Listener[trio.abc.Stream], switch: TlsSwitch) -> None:
        self.transport_listener = listener
        self._switch = switch

    async def accept(self) -> trio.SSLStream[trio.abc.Stream]:
        """The next connection, before its handshake."""
        stream = await self.transport_listener.accept()
        # HTTPS peers close without close_notify. Messages here have lengths, so nothing can be cut short.
        return trio.SSLStream(stream, self._switch.context, server_side=True, https_compatible=True)

    async def aclose(self) -> None:
        """Closes the listener below."""
        await self.transport_listener.aclose()


def _require_clients_of(context: ssl.SSLContext, client_ca: Path) -> None:
    _check_readable(client_ca)
    try:
        context.load_verify_locations(client_ca)
    except (ssl.SSLError, OSError) as error:
        raise TlsError(f"{client_ca} has no CA certificate in PEM: {error}") from error
    context.verify_mode = ssl.CERT_REQUIRED


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise TlsError(f"{path} cannot be read: {error.strerror}") from error
