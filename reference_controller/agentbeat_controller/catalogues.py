"""The catalogue: an environment's profiles, as they are listed and as a reset chooses from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agentbeat_controller.environments.base import Profile
from agentbeat_controller.refusals import invalid_request, profile_changed, profile_not_found
from agentbeat_protocol import Catalogue, ProfileEntry, ResetRequest

__all__ = ["catalogue_of", "check_digest", "profile_entry", "profile_to_reset"]


def catalogue_of(profiles: Iterable[Profile], *, controller_id: str) -> Catalogue:
    """Every profile, in the order given."""
    entries = tuple(profile_entry(profile) for profile in profiles)
    return Catalogue(schema_version="state-controller-v1", controller_id=controller_id, profiles=entries)


def profile_entry(profile: Profile) -> ProfileEntry:
    """A profile with its digest, without its content."""
    return ProfileEntry(
        profile_id=profile.profile_id,
        profile_digest=profile.profile_digest,
        title=profile.title,
        binding_modes=profile.binding_modes,
        dimensions=profile.dimensions,
        surfaces=profile.surfaces,
    )


def profile_to_reset(profiles: Mapping[str, Profile], request: ResetRequest) -> Profile:
    """The profile that a reset names, if it can be reset as asked.

    All that is wrong with the request itself comes first, whatever the run's lease is like (CTL-2); so a NUL,
    which not every database can store, is refused here for every environment. The digest is for later.

    Raises:
        ProtocolError: `profile_not_found`, or `invalid_request` for a mode or surface that it does not have,
            or a text with a NUL.
    """
    profile = profiles.get(request.profile_id)
    if profile is None:
        raise profile_not_found()
    if request.binding_mode not in profile.binding_modes:
        expected = "a binding mode of the profile"
        raise invalid_request("/binding_mode", got="another binding mode", expected=expected)
    if request.injection is not None and request.injection.surface not in profile.surfaces:
        expected = "a surface of the profile"
        raise invalid_request("/injection/surface", got="an unknown surface", expected=expected)
    if request.injection is not None and "\0" in request.injection.text:
        expected = "a text without NUL"
        raise invalid_request("/injection/text", got="a NUL character", expected=expected)
    return profile


def check_digest(profile: Profile, request: ResetRequest) -> None:
    """The profile is the one that the caller has pinned; a recorded answer comes before this (CTL-2).

    Raises:
        ProtocolError: `profile_changed`.
    """
    if request.profile_digest != profile.profile_digest:
        raise profile_changed()
