"""Names, ids and tokens: grammars without holes, and secrets that are never repeated."""

from __future__ import annotations

import hashlib
import re
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts import identity
from tenure_contracts.identity import IdentityError

SECRET = bytes(range(32))
credential_ids = st.from_regex(re.compile(identity.CREDENTIAL_ID_PATTERN), fullmatch=True)
secrets = st.binary(min_size=32, max_size=32)


@pytest.mark.parametrize("name", ["a", "0", "close-day", "a.b_c-d", "a" * 63, "9-"])
def test_names(name: str) -> None:
    assert identity.check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "A", "-a", ".a", "_a", "a" * 64, "a b", "a\n", "\na", "a\0", "é", "a/b", "\uff41", "٣"]
)
def test_what_is_not_a_name(name: str) -> None:
    with pytest.raises(IdentityError, match=r"task .* is not a name"):
        identity.check_name(name, "task")


@given(st.text(max_size=70))
def test_a_name_is_exactly_the_grammar(text: str) -> None:
    allowed = "abcdefghijklmnopqrstuvwxyz0123456789"
    follows = 0 < len(text) <= 63 and text[0] in allowed and all(letter in allowed + "._-" for letter in text)
    if follows:
        assert identity.check_name(text) == text
    else:
        with pytest.raises(IdentityError):
            identity.check_name(text)


def test_uuid_in_one_spelling_only() -> None:
    known = uuid4()
    assert identity.parse_uuid(str(known)) == known
    for other in (known.hex, f"{{{known}}}", known.urn, f"{known}\n", "", "zz"):
        with pytest.raises(IdentityError):
            identity.parse_uuid(other)


def test_derived_ids_are_reproducible_and_separated() -> None:
    run = UUID("0190a3c8-5e0c-7f3a-9d51-2f6f0c3f1b77")
    first = identity.derived_id("tenure/attempt", run, "load", 1)
    assert first == identity.derived_id("tenure/attempt", run, "load", 1)
    assert first.version == 8
    assert first.variant == "specified in RFC 4122"
    others = {
        identity.derived_id("tenure/other", run, "load", 1),
        identity.derived_id("tenure/attempt", run, "load", 2),
        identity.derived_id("tenure/attempt", run, "loa", "d", 1),
        identity.derived_id("tenure/attempt", run, "load1"),
    }
    assert len(others | {first}) == 5


@given(credential_ids, secrets)
def test_tokens_round_trip_to_the_digest(credential: str, secret: bytes) -> None:
    token = identity.parse_worker_token(identity.worker_token(credential, secret))
    assert token.id == credential
    assert token.secret_digest == hashlib.sha256(b"tenure/worker-secret\0" + secret).digest()
    operator = identity.parse_operator_token(identity.operator_token(credential, secret))
    assert operator.secret_digest == hashlib.sha256(b"tenure/operator-secret\0" + secret).digest()


def test_the_secret_may_contain_the_separator() -> None:
    secret = b"\xff" * 32
    assert "_" in identity.encode_secret(secret)
    assert identity.parse_worker_token(identity.worker_token("abcdefgh", secret)).id == "abcdefgh"


def test_a_lease_token_has_a_domain_of_its_own() -> None:
    text = identity.encode_secret(SECRET)
    assert identity.lease_token_digest(text) == hashlib.sha256(b"tenure/lease-token\0" + SECRET).digest()


@given(st.text(alphabet=st.sampled_from("AZaz09_-"), min_size=43, max_size=43))
def test_every_43_characters_are_32_bytes(text: str) -> None:
    assert len(identity.decode_secret(text)) == 32


GOOD = identity.worker_token("abcdefgh", SECRET)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tw1",
        GOOD[:-1],
        GOOD + "A",
        GOOD + "\n",
        GOOD.replace("tw1", "to1"),
        GOOD.replace("tw1", "TW1"),
        GOOD.replace("abcdefgh", "abc"),
        GOOD.replace("abcdefgh", "abc_defgh"),
        GOOD.replace("abcdefgh", "ABCDEFGH"),
        GOOD[:-1] + "+",
        GOOD[:-1] + "=",
        GOOD[:-1] + "é",
    ],
)
def test_bad_tokens_are_refused_without_repeating_them(text: str) -> None:
    with pytest.raises(IdentityError) as caught:
        identity.parse_worker_token(text)
    assert GOOD[-40:-1] not in str(caught.value)


def test_a_token_does_not_show_its_digest() -> None:
    token = identity.parse_worker_token(GOOD)
    assert "secret_digest" not in repr(token)
    with pytest.raises(IdentityError):
        identity.worker_token("abcdefgh", b"short")
    with pytest.raises(IdentityError):
        identity.worker_token("no_underscore", SECRET)
