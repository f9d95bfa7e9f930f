"""Whether an opening is bound to what was promised: its domain, and the digests of its materials.

A material that has a component's name must have the digest of that component in the receipt, or where the
receipt has none, in its arm; one that the manifest lists the digest there. What the digest of a material is,
is said in `objects.materials`.

>>> ContentDigests().materials({"chooser": {"chooser": "subset"}})["chooser"][:15]
'sha256:54853a01'
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentbeat_receipts.canonical import object_digest
from agentbeat_receipts.claims.cases import Case
from agentbeat_receipts.claims.faults import Fault
from agentbeat_receipts.claims.groups import Group
from agentbeat_receipts.objects import COMPONENTS, material_digest
from agentbeat_receipts.objects.base import type_name

__all__ = ["Broken", "ContentDigests", "broken_bindings"]

#: How many sets of materials are remembered, and the longest text of one that is: 4 MiB at most.
_REMEMBERED: Final = 256
_LONGEST: Final = 1 << 14

_COMPONENTS: Final = frozenset[str](COMPONENTS)

#: One text for each value: equal texts are equal contents. Whether a content is exact is not asked here.
_text = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode


@dataclass(frozen=True, slots=True)
class Broken:
    """A binding that does not hold.

    Args:
        group: the group of fields that cannot be used; None when nothing of the opening can.
        fault: why.
        detail: what is bound to what.
    """

    group: Group | None
    fault: Fault
    detail: str


class ContentDigests:
    """Digests of private content as it stands in an opening: exact, and in normal form C.

    The openings of an arm carry the same materials over and over, so the digests of the last few sets are
    remembered by the whole of their text: a remembered digest is never that of another content.
    """

    def __init__(self) -> None:
        self._remembered: dict[str, Mapping[str, str]] = {}

    def materials(self, contents: Mapping[str, Any]) -> Mapping[str, str]:
        """The digest of each material, as `material_digest` makes it."""
        text = _text(contents)
        found = self._remembered.get(text)
        if found is None:
            found = {name: _digest(name, content) for name, content in contents.items()}
            if len(text) <= _LONGEST:
                if len(self._remembered) >= _REMEMBERED:
                    self._remembered.clear()
                self._remembered[text] = found
        return found

    def profile(self, content: Any) -> str:
        """The digest by which a profile is compared with itself in other runs."""
        return hashlib.sha256(_text(content).encode()).hexdigest()


def broken_bindings(
    case: Case, *, domain: str, promised: Mapping[str, str], digests: ContentDigests
) -> tuple[Broken, ...]:
    """Everything in one opening that is not what was promised.

    Args:
        domain: the name of the domain that the batch is of.
        promised: the digests of materials that the manifest lists.
    """
    opening = case.opening
    if opening is None:
        return ()
    if opening.domain != domain:
        detail = f"got an opening of {opening.domain}, expected {domain}"
        return (Broken(None, Fault.DOMAIN_DIFFERS, detail),)
    broken: list[Broken] = []
    made = digests.materials(opening.materials)
    for name, group in case.groups.items():
        got = made.get(name)
        if got is None or group in case.removed:
            continue
        if name in _COMPONENTS and Group.Q not in case.removed:
            ran = case.receipt.components[name]  # type: ignore[index]  # it is a component's name
            if ran is None and case.arm is not None and Group.A not in case.removed:
                # Not recorded is no leave to replay with something else.
                promised = {name: case.arm.components[name], **promised}  # type: ignore[index]
            elif ran is not None and ran != got:
                broken.append(Broken(group, Fault.MATERIAL_CONTRADICTS_COMPONENT, name))
        if promised.get(name, got) != got:
            broken.append(Broken(group, Fault.MATERIAL_CONTRADICTS_MANIFEST, name))
    return tuple(broken)


def _digest(name: str, content: Any) -> str:
    """`material_digest`, without bringing into canonical form what is: in ASCII the text at hand is that."""
    text = _text(content)
    if not text.isascii():
        return material_digest(name, content)
    return object_digest(type_name(f"material.{name}"), text.encode())
