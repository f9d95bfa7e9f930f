"""HTML in which text cannot become mark-up: every child and attribute is escaped unless it is `Markup`.

>>> element("p", "a < b", element("code", "x"), class_="note")
'<p class="note">a &lt; b<code>x</code></p>'
"""

from __future__ import annotations

from html import escape
from typing import Final

__all__ = ["Markup", "element"]

_EMPTY: Final = frozenset({"meta"})


class Markup(str):
    """Text that is HTML already, made by `element`."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | bool) -> Markup:
    """An element.

    Args:
        children: text, which is escaped, or elements.
        attributes: by name, `class_` for `class`, `aria_label` for `aria-label`; True for one without a
            value, and False for none.
    """
    written = "".join(
        f" {_name(name)}" if value is True else f' {_name(name)}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not False
    )
    if tag in _EMPTY:
        return Markup(f"<{tag}{written}>")
    inner = "".join(child if isinstance(child, Markup) else escape(child) for child in children)
    return Markup(f"<{tag}{written}>{inner}</{tag}>")


def _name(attribute: str) -> str:
    return attribute.rstrip("_").replace("_", "-")
