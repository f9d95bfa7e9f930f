"""Hypothesis strategies for JSON values."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["exact_values", "json_texts", "json_values", "safe_integers"]

#: Any Unicode text without surrogates, with the characters that escapes and brackets are made of often in it.
json_texts = st.one_of(st.text(), st.text(alphabet='"\\[]{}:,u0dDe\n\x00\x7fé€😀\ufeff', max_size=12))

#: Integers that every JSON reader keeps.
safe_integers = st.integers(-(2**53) + 1, 2**53 - 1)

_scalars = (
    st.none() | st.booleans() | safe_integers | st.floats(allow_nan=False, allow_infinity=False) | json_texts
)

#: Values that have a canonical form.
json_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(json_texts, inner, max_size=4),
    max_leaves=20,
)

#: Values of exact JSON: their only numbers are integers.
exact_values = st.recursive(
    st.none() | st.booleans() | safe_integers | json_texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(json_texts, inner, max_size=4),
    max_leaves=20,
)
