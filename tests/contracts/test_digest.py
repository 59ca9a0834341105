"""Canonical JSON: one text for equal values, and no text for what has none."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts.digest import DigestError, canonical_json, digest, digest_of_text

texts = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
keys = texts.map(lambda text: unicodedata.normalize("NFC", text))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_canonical_text_is_a_fixed_point(value: Any) -> None:
    text = canonical_json(value)
    assert canonical_json(json.loads(text)) == text


@given(st.dictionaries(keys, st.integers(), max_size=6), st.randoms())
def test_key_order_does_not_matter(value: dict[str, int], random: Any) -> None:
    items = list(value.items())
    random.shuffle(items)
    assert canonical_json(dict(items)) == canonical_json(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "é"]}, '{"a":[true,null,"é"],"b":1}'),
        ("e\u0301", '"é"'),
        ((1, 2), "[1,2]"),
        ('"\\\n\u2028', '"\\"\\\\\\n\u2028"'),
        ({}, "{}"),
        (10**30, "1" + "0" * 30),
    ],
)
def test_vectors(value: Any, text: str) -> None:
    assert canonical_json(value).decode() == text


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (1.0, "$"),
        ({"a": [1, {"b": 0.5}]}, "$.a[1].b"),
        ({"a": "x\0"}, "$.a"),
        ({"a\0": 1}, "$"),
        (["\ud800"], "$[0]"),
        ({1: 2}, "$"),
        ({"e\u0301": 1, "é": 2}, "$"),
        ({"a": b"x"}, "$.a"),
        ({"a": {1, 2}}, "$.a"),
        (float("nan"), "$"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(DigestError) as caught:
        canonical_json(value)
    assert caught.value.path == path


def test_depth_is_bounded() -> None:
    value: Any = 0
    for _ in range(128):
        value = [value]
    canonical_json(value)
    with pytest.raises(DigestError, match="nested deeper"):
        canonical_json([value])


def test_digests_are_domain_separated() -> None:
    expected = hashlib.sha256(b'tenure/task\0{"a":1}').digest()
    assert digest("tenure/task", {"a": 1}) == expected
    assert digest_of_text("tenure/task", '{"a":1}') == expected
    assert digest("tenure/trigger", {"a": 1}) != expected
