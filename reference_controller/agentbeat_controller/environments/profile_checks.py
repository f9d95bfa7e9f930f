"""Whether a profile can be listed, pinned and reset: found out when the catalogue is loaded, by name.

A profile that the wire has no form for would make the whole catalogue unreadable, to everybody, at the first
`GET`. So what takes a catalogue in checks it, and says which profile, which member, what it got and expected.

    check_profile(Profile(profile_id="sell", title="", task="Sell one.", content={}))
    # ProfileError: profile 'sell': title: got a string of 0 characters, expected at least 1 characters
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Final

from pydantic import Field

from agentbeat_protocol import Injection, ProtocolError, canonical_json, cut
from agentbeat_protocol.identifiers import EntityId
from agentbeat_protocol.models import Array, Name, Strict, describe, validated
from agentbeat_protocol.state_receipts import BindingMode
from agentbeat_protocol.verdicts import Dimension

from .base import Profile

__all__ = ["ProfileError", "check_profile", "checked_catalogue"]


class ProfileError(ValueError):
    """A profile that no catalogue can hold; the message names it and its member."""


class _Shape(Strict):
    """A profile's members beside its content, as far as their types go."""

    profile_id: EntityId
    title: Name
    task: str
    binding_modes: Annotated[Array[BindingMode], Field(min_length=1)]
    surfaces: Array[Name]
    injections: dict[Name, str]
    not_applicable: dict[Dimension, str]
    not_observed: dict[Dimension, str]


#: The members that a catalogue holds once each.
_SETS: Final = ("binding_modes", "surfaces")


def checked_catalogue(profiles: Mapping[str, Profile]) -> Mapping[str, Profile]:
    """The catalogue, if every profile of it can be listed, pinned and reset.

    Raises:
        ProfileError: one cannot.
    """
    for name, profile in profiles.items():
        check_profile(profile)
        if name != profile.profile_id:
            raise _refused(name, "profile_id", got=_shown(profile.profile_id), expected="the id it is under")
    return profiles


def check_profile(profile: Profile) -> None:
    """Look at one profile.

    Raises:
        ProfileError: it cannot be listed, pinned and reset.
    """
    if not isinstance(profile, Profile):
        raise ProfileError(f"the catalogue: got a {cut(type(profile).__name__, 64)}, expected profiles")
    name = profile.profile_id
    members = {member: _plain(getattr(profile, member)) for member in _Shape.model_fields}
    try:
        canonical_json({**members, "weaknesses": [asdict(each) for each in profile.weaknesses]})
        validated(_Shape, members)
        if not isinstance(profile.content, Mapping):
            raise _refused(name, "content", got=describe(profile.content), expected="an object")
        _ = profile.profile_digest
    except ProtocolError as error:
        expected = "no control character" if error.rule == "S-PATTERN" else error.expected
        raise _refused(name, error.path.removesuffix("/[key]"), got=error.got, expected=expected) from None
    for member in _SETS:
        if twice := [value for value, count in Counter(members[member]).items() if count > 1]:
            raise _refused(name, member, got=f"{_shown(twice[0])} twice", expected="each once")
    for surface, text in members["injections"].items():
        try:
            validated(Injection, {"surface": surface, "text": text})
        except ProtocolError as error:
            raise _refused(name, f"injections/{surface}", got=error.got, expected=error.expected) from None


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _refused(name: Any, member: str, *, got: str, expected: str) -> ProfileError:
    return ProfileError(
        f"profile {_shown(name)}: {cut(member.removeprefix('/'), 100)}: got {got}, expected {expected}"
    )


def _shown(value: Any) -> str:
    return f"'{cut(str(value))}'"
