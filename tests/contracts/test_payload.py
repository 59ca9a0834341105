"""What programs say: never a reason to refuse a completion, never stored as PostgreSQL cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts import bounds
from tenure_contracts.payload import cut_depth, json_fault, mend, sanitise_output, sanitise_text

texts = st.text(max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=15,
)


def has_nul(value: Any) -> bool:
    return "\\u0000" in json.dumps(value).replace("\\\\", "")


@given(values)
def test_good_output_is_kept_to_the_byte(value: Any) -> None:
    raw = json.dumps(value).encode()
    if value is None:
        assert sanitise_output(raw) == (None, None)
    elif has_nul(value):
        assert sanitise_output(raw) == (None, "invalid")
    else:
        assert sanitise_output(raw) == (raw.decode(), None)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b" null ", (None, None)),
        (b'"a\\u0000b"', (None, "invalid")),
        (b'{"a\\u0000":1}', (None, "invalid")),
        (b'"a\\\\u0000b"', ('"a\\\\u0000b"', None)),
        (b'"a\\\\\\u0000b"', (None, "invalid")),
        (b'"\\ud800"', (None, "invalid")),
        (b'"\\ud83d\\ude00"', ('"\\ud83d\\ude00"', None)),
        (b'"\xff"', (None, "invalid")),
        ('"\u202e\U0001f600"'.encode(), ('"\u202e\U0001f600"', None)),
        (b"1e999", (None, "invalid")),
        (b"[1.10]", ("[1.10]", None)),
        (b"[1e-400]", ("[0.0]", None)),
        (b'"1e-400"', ('"1e-400"', None)),
        (b"[" * 128 + b"]" * 128, ("[" * 128 + "]" * 128, None)),
        (b"[" * 129 + b"]" * 129, (None, "invalid")),
        (b"[" * 60_000, (None, "invalid")),
        (b'"' + b"x" * bounds.OUTPUT_BYTES + b'"', (None, "too_large")),
        (b'"' + b"x" * (bounds.OUTPUT_BYTES - 2) + b'"', ('"' + "x" * (bounds.OUTPUT_BYTES - 2) + '"', None)),
        (b"{", (None, "invalid")),
        (b"", (None, "invalid")),
    ],
)
def test_vectors(raw: bytes, expected: tuple[str | None, str | None]) -> None:
    assert sanitise_output(raw) == expected


@given(st.binary(max_size=60))
def test_junk_is_flagged_and_never_an_exception(raw: bytes) -> None:
    text, flag = sanitise_output(raw)
    assert (text is None) or flag is None
    assert json_fault(raw, 10) in (None, "too_large", "invalid")


@given(st.text(alphabet=st.characters(), max_size=40), st.integers(1, 30))
def test_text_is_repaired_and_cut(text: str, limit: int) -> None:
    clean = sanitise_text(text, limit)
    assert "\0" not in clean
    clean.encode()
    assert len(clean) <= limit


def test_text_keeps_what_is_good() -> None:
    assert sanitise_text("a\0b\ud800c", 10) == "a\ufffdb\ufffdc"
    assert sanitise_text("\u202e\U0001f600", 2) == "\u202e\U0001f600"
    assert sanitise_text("abcdef", 4) == "abc…"


@given(values)
def test_a_readable_body_is_not_changed(value: Any) -> None:
    body = json.dumps(value).encode()
    assert mend(body) == body


def test_a_lone_surrogate_is_marked() -> None:
    assert mend(b'["\\ud800\\\\ud800\\udc00\\ud83d\\ude00"]') == b'["\\u0000\\\\ud800\\u0000\\ud83d\\ude00"]'


@given(st.integers(0, 12), st.integers(1, 6))
def test_only_what_is_too_deep_is_cut(depth: int, limit: int) -> None:
    body = b'{"a":' + b"[" * depth + b'"]}"' + b"]" * depth + b',"b":1}'
    cut = json.loads(cut_depth(body, limit))
    assert cut["b"] == 1
    if depth < limit:
        assert cut == json.loads(body)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("piece", [b"[", b'\\"', b'"', b"\\", b'{"a":', b"\\ud800"])
def test_mending_is_linear(piece: bytes) -> None:
    mend(piece * (bounds.COMPLETION_BYTES // len(piece)))
