"""TLS material of a test: an authority, files as an operator would have them, and clients that trust them."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

import trustme

from tenure_http.tls import TlsMaterial

HOST = "127.0.0.1"


@dataclass
class TlsFiles:
    """Files in a folder; `renew` replaces them, as certificates are before they end."""

    folder: Path
    mutual: bool = False
    authority: trustme.CA = field(default_factory=trustme.CA)

    def __post_init__(self) -> None:
        self.renew()

    @property
    def material(self) -> TlsMaterial:
        """Where they are."""
        client_ca = self.folder / "client-ca.pem" if self.mutual else None
        return TlsMaterial(self.folder / "certificate.pem", self.folder / "key.pem", client_ca)

    def renew(self) -> None:
        """Another key with another certificate, and the client CA of now."""
        issued = self.authority.issue_cert(HOST)
        issued.private_key_pem.write_to_path(str(self.material.key))
        self.material.certificate.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
        if self.material.client_ca:
            self.authority.cert_pem.write_to_path(str(self.material.client_ca))

    def client(self, of: trustme.CA | None = None) -> ssl.SSLContext:
        """A client that trusts the authority; with a certificate of `of` when it is given."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.authority.configure_trust(context)
        if of is not None:
            of.issue_cert("worker").configure_cert(context)
        return context
