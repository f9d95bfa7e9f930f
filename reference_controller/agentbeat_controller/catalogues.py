"""The catalogue: an environment's profiles as the control plane and the command line list them."""

from __future__ import annotations

from collections.abc import Iterable

from agentbeat_controller.environments.base import Profile
from agentbeat_protocol import Catalogue, ProfileEntry

__all__ = ["catalogue_of", "profile_entry"]


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
