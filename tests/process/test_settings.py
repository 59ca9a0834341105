"""Reading settings: each kind of value, everything that is refused, and all of it said at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tenure_http.tls import TlsMaterial
from tenure_process.address import Address
from tenure_process.settings import Reader, SettingsError
from tenure_process.source import Sources

NEAR = Address("127.0.0.1", 1)
FAR = Address("0.0.0.0", 1)


def reader(**environ: str) -> Reader:
    return Reader({f"P_{name}": value for name, value in environ.items()}, "P_", others=["P_URL"])


def test_each_kind_of_value_is_read() -> None:
    given = reader(TEXT="a", LISTEN="[::1]:80", REST="1m30s", PAGE="64", SWITCH="yes")
    assert given.required("P_TEXT", "b") == "a"
    assert given.address("P_LISTEN", NEAR) == Address("::1", 80)
    assert given.seconds("P_REST", 1.0) == 90
    assert given.count("P_PAGE", 1, 1, 64) == 64
    assert given.yes("P_SWITCH")
    given.check()


def test_what_is_not_given_has_its_default() -> None:
    empty = reader(LISTEN="", REST="", PAGE="", SWITCH="")
    assert empty.text("P_TEXT") is None
    assert empty.address("P_LISTEN", NEAR) == NEAR
    assert empty.seconds("P_REST", 1.5) == 1.5
    assert empty.count("P_PAGE", 7, 1, 64) == 7
    assert not empty.yes("P_SWITCH")
    assert empty.tls() is None
    empty.check()


REFUSED: list[tuple[str, Callable[[Reader], object], str]] = [
    ("", lambda r: r.required("P_X", "an example"), "P_X is missing: give it as an example"),
    ("80", lambda r: r.address("P_X", NEAR), "P_X must be HOST:PORT, not '80'"),
    (":80", lambda r: r.address("P_X", NEAR), "P_X must be HOST:PORT"),
    ("h:65536", lambda r: r.address("P_X", NEAR), "P_X must be HOST:PORT"),
    ("h:٣", lambda r: r.address("P_X", NEAR), "P_X must be HOST:PORT"),
    ("30", lambda r: r.seconds("P_X", 1.0), "P_X: "),
    ("0", lambda r: r.count("P_X", 1, 1, 64), "P_X must be a whole number from 1 to 64, not '0'"),
    ("65", lambda r: r.count("P_X", 1, 1, 64), "from 1 to 64"),
    ("-1", lambda r: r.count("P_X", 1, 0, 64), "from 0 to 64"),
    ("1" * 5000, lambda r: r.count("P_X", 1, 0, 64), "from 0 to 64"),
    ("true", lambda r: r.yes("P_X"), "P_X must be yes or no, not 'true'"),
]


@pytest.mark.parametrize(("value", "read", "sentence"), REFUSED)
def test_what_cannot_be_meant_is_refused(value: str, read: Callable[[Reader], object], sentence: str) -> None:
    given = reader(X=value)
    read(given)
    with pytest.raises(SettingsError) as caught:
        given.check()
    assert sentence in str(caught.value)


def test_everything_wrong_is_said_at_once() -> None:
    given = reader(REST="soon", SWITCH="1", RESTT="1s")
    given.seconds("P_REST", 1.0)
    given.yes("P_SWITCH")
    given.fault("P_PAGE is odd")
    with pytest.raises(SettingsError) as caught:
        given.check()
    assert [sentence.split()[0] for sentence in str(caught.value).split("; ")] == [
        "P_REST:",
        "P_SWITCH",
        "P_PAGE",
        "P_RESTT",
    ]


def test_names_of_others_are_left_alone() -> None:
    Reader({"P_URL": "x", "Q_ANY": "x"}, "P_", others=["P_URL"]).check()


def test_tls_material_is_whole() -> None:
    material = reader(TLS_CERTIFICATE="/c", TLS_KEY="/k", TLS_CLIENT_CA="/ca").tls()
    assert material == TlsMaterial(Path("/c"), Path("/k"), Path("/ca"))
    alone = reader(TLS_CERTIFICATE="/c", TLS_KEY="/k").tls()
    assert alone is not None
    assert alone.client_ca is None


@pytest.mark.parametrize("alone", ["TLS_CERTIFICATE", "TLS_KEY", "TLS_CLIENT_CA"])
def test_tls_material_in_part_is_refused(alone: str) -> None:
    given = reader(**{alone: "/file"})
    assert given.tls() is None
    with pytest.raises(SettingsError, match="P_TLS_CERTIFICATE and P_TLS_KEY belong together"):
        given.check()


WITH_TLS = TlsMaterial(Path("/c"), Path("/k"))


@pytest.mark.parametrize(
    ("listen", "tls", "wish"),
    [
        (FAR, None, {"INSECURE_PLAINTEXT": "yes"}),
        (FAR, WITH_TLS, {}),
        (NEAR, None, {}),
        (Address("localhost", 1), None, {}),
    ],
)
def test_what_may_be_listened_on(listen: Address, tls: TlsMaterial | None, wish: dict[str, str]) -> None:
    given = reader(**wish)
    assert given.plaintext(listen, tls) == bool(wish)
    given.check()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "control.example"])
def test_other_machines_are_not_served_in_plain_text_unasked(host: str) -> None:
    given = reader()
    given.plaintext(Address(host, 1), None)
    with pytest.raises(SettingsError, match="which other machines can reach, without TLS"):
        given.check()


def test_what_is_wrong_is_named_with_the_flag_or_the_file_that_says_it() -> None:
    layers = {"flag": {"P_A": "x"}, "environment": {"P_B": "x"}, "a.toml": {"P_C": "x"}}
    given = Reader(Sources(layers), "P_")
    given.count("P_A", 1, 1, 9)
    given.yes("P_B")
    with pytest.raises(SettingsError) as refused:
        given.check()
    assert str(refused.value) == (
        "P_A (flag) must be a whole number from 1 to 9, not 'x'; P_B must be yes or no, not 'x'; "
        "P_C (a.toml) is not a setting"
    )
