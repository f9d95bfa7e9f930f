"""HTML in which text cannot become mark-up: children and attributes are escaped unless they are `Markup`.

Text is escaped twice over: what does not print first, then what HTML reads.

>>> element("p", "a < b\\u202e", element("code", "x"), class_="note")
'<p class="note">a &lt; b\\\\u202e<code>x</code></p>'
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final, TypeGuard

__all__ = ["Markup", "breakable", "element", "table", "visible"]

_EMPTY: Final = frozenset({"meta"})


class Markup(str):
    """Text that is HTML already, made here."""

    __slots__ = ()


def visible(text: str) -> str:
    """`text` with every character that does not print as an escape.

    >>> visible("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def breakable(name: str) -> Markup:
    """A name that may be broken after each underscore, where a column or a screen is narrow.

    >>> breakable("chain_gap")
    'chain_<wbr>gap'
    """
    return Markup("_<wbr>".join(escape(visible(part)) for part in name.split("_")))


def element(tag: str, *children: str, **attributes: str | bool) -> Markup:
    """An element.

    Args:
        children: text, which is escaped, or elements.
        attributes: by name, `class_` for `class`, `aria_label` for `aria-label`; True for one without a
            value, and False for none.
    """
    written = "".join(
        f" {_name(name)}" if value is True else f' {_name(name)}="{escape(visible(str(value)))}"'
        for name, value in attributes.items()
        if value is not False
    )
    if tag in _EMPTY:
        return Markup(f"<{tag}{written}>")
    inner = "".join(child if isinstance(child, Markup) else escape(visible(child)) for child in children)
    return Markup(f"<{tag}{written}>{inner}</{tag}>")


def table(caption: str, heads: Iterable[str], *bodies: Iterable[Iterable[str]], class_: str = "") -> Markup:
    """A table in a box of its own, which scrolls sideways where the page is narrow.

    Args:
        caption: what the table shows; it names the box too.
        heads: of the columns.
        bodies: groups of rows, which are their cells; one made by `element("td"…)` or `element("th"…)` stands
            as it is.
    """
    groups = (
        element("tbody", *(element("tr", *(_cell(cell) for cell in row)) for row in rows)) for rows in bodies
    )
    made = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *(_head(head) for head in heads))),
        *groups,
        class_=class_ or False,
    )
    # A box that scrolls has to be reachable by keyboard.
    return element("div", made, class_="scrolls", tabindex="0", role="region", aria_label=caption)


def _head(head: str) -> Markup:
    return head if _is_cell(head) else element("th", head, scope="col")


def _cell(cell: str) -> Markup:
    return cell if _is_cell(cell) else element("td", cell)


def _is_cell(cell: str) -> TypeGuard[Markup]:
    return isinstance(cell, Markup) and cell.startswith(("<td", "<th"))


def _name(attribute: str) -> str:
    return attribute.rstrip("_").replace("_", "-")
