"""TLS material that is read again while a process serves: on SIGHUP, or when its probe listener is asked."""

from __future__ import annotations

import hashlib
import json
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import structlog
import trio

from tenure_http import Request, Response, Route
from tenure_http.problem import PROBLEM_JSON
from tenure_http.tls import TlsError, TlsMaterial, TlsSwitch
from tenure_process.certificate import Certificate, shown_by

log = structlog.get_logger("tenure.process")

STATUS: Final = 409
"""What is asked for contradicts what the files hold; nothing changed."""


class Reload:
    """Puts what the files hold now in the place of what is served: key, certificate, client CA in one step.

    Args:
        switch: of the listeners; None when they speak plain text, and then there is nothing to do.
        material: where the files are.

    `retire` is called after each change: it lets the connections that exist end with their next answer. Files
    that hold what they held at the last reload are no change: whoever reaches a probe listener may ask, and
    must not be able to send a whole fleet through its handshakes again and again.
    """

    def __init__(self, switch: TlsSwitch | None, material: TlsMaterial | None) -> None:
        self.retire: Callable[[], None] = lambda: None
        self._switch = switch
        self._material = material
        self._contents = b""
        self._one_at_a_time = trio.Lock()

    async def __call__(self) -> Certificate | None:
        """The certificate that is served from now on; None in plain text.

        Raises TlsError when the files cannot be served with; then nothing changed. Cancelling it may leave
        either.
        """
        if self._switch is None or self._material is None:
            log.info("nothing_to_reload", reason="this listener speaks plain text")
            return None
        async with self._one_at_a_time:
            try:
                certificate = await self._replace(self._switch, self._material)
            except TlsError as error:
                log.warning("tls_refused", reason=str(error), serving="what was served before")
                raise
        log.info("tls_reloaded", **certificate.fields)
        return certificate

    async def by_signal(self) -> None:
        """The same for a caller whom nobody answers: the log says what became of it."""
        with suppress(TlsError):
            await self()

    async def _replace(self, switch: TlsSwitch, material: TlsMaterial) -> Certificate:
        # Files may lie on a network, and a chain takes milliseconds: not on the event loop.
        contents, context, certificate = await trio.to_thread.run_sync(
            _read, material, abandon_on_cancel=True
        )
        if contents and contents == self._contents:
            return certificate
        self._contents, switch.context = contents, context
        # A connection that was accepted before, with the old context, is known to the server by then.
        await trio.lowlevel.checkpoint()
        self.retire()
        return certificate


def _read(material: TlsMaterial) -> tuple[bytes, ssl.SSLContext, Certificate]:
    contents = _contents(material)  # first: what changes after it is another change for the next reload
    context = material.context()
    try:
        return contents, context, shown_by(context)
    except ssl.SSLError as error:
        raise TlsError(f"{material.certificate} and {material.key} cannot be served with: {error}") from error


def _contents(material: TlsMaterial) -> bytes:
    files = filter(None, (material.certificate, material.key, material.client_ca))
    try:
        return b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)
    except OSError:
        return b""  # the context says which file, and why


def reload_route(reload: Reload) -> Route:
    """`POST /reload`: 200 with the certificate that is served now, or a problem that names the file."""

    async def handle(request: Request) -> Response:
        try:
            certificate = await reload()
        except TlsError as error:
            return refused(str(error))
        return Response(200, json.dumps(report(certificate)).encode("ascii"))

    return Route("reload", "POST", "/reload", handle, media_type=None, counted=False)


def report(certificate: Certificate | None) -> dict[str, str]:
    """What a reload answers."""
    return {"status": "reloaded", **certificate.fields} if certificate else {"status": "plaintext"}


def refused(detail: str) -> Response:
    """The answer when nothing changed. No worker sees it, so its code is in none of their tables."""
    document = {
        "type": "about:blank",
        "title": "The TLS material is refused, what was served before is served on",
        "status": STATUS,
        "code": "tls_refused",
        "detail": detail,
    }
    return Response(STATUS, json.dumps(document).encode("ascii"), PROBLEM_JSON)
