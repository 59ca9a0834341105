"""The certificate that a context shows: the one that a client sees."""

from __future__ import annotations

import hashlib
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from tenure_process.certificate import shown_by
from tests.harness.tls import TlsFiles


@pytest.mark.parametrize("mutual", [False, True])
def test_it_is_the_leaf_of_the_file(tmp_path: Path, mutual: bool) -> None:
    files = TlsFiles(tmp_path, mutual)
    shown = shown_by(files.material.context())
    leaf = ssl.PEM_cert_to_DER_cert(files.material.certificate.read_text().partition("-----END")[0] + END)
    assert shown.fingerprint == hashlib.sha256(leaf).hexdigest()


END = "-----END CERTIFICATE-----"


@pytest.mark.parametrize(
    "not_after",
    [
        datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC),
        datetime(2049, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(2050, 1, 1, tzinfo=UTC),  # another form from here on
        datetime(1999, 1, 1, tzinfo=UTC),  # over: it is shown all the same
    ],
)
def test_it_ends_when_the_certificate_says(tmp_path: Path, not_after: datetime) -> None:
    authority = trustme.CA()
    begin = datetime(1998, 1, 1, tzinfo=UTC)
    issued = authority.issue_cert("localhost", not_before=begin, not_after=not_after)
    issued.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "pair.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pair.pem")
    shown = shown_by(context)
    assert shown.not_after == not_after
    assert shown.fields == {
        "not_after": not_after.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "fingerprint": f"sha256:{shown.fingerprint}",
    }
