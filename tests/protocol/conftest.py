"""Hypothesis in this room: no deadline per example, since a busy machine is no failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("room", deadline=None)
settings.load_profile("room")
