"""Bytes as text: round trip, and nothing else is taken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure_contracts import base64url


@given(content=st.binary(max_size=64))
def test_what_is_encoded_is_decoded(content: bytes) -> None:
    text = base64url.encode(content)
    assert "=" not in text
    assert base64url.decode(text) == content


@pytest.mark.parametrize("text", ["A", "AA==", "a+b/", "AA\n", "é", " AA"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not base64url"):
        base64url.decode(text)
