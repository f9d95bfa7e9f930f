"""Environments: business applications that the Controller can reset, read as a whole and judge."""

from __future__ import annotations

from .base import BINDING_MODES, BusinessDoor, Entry, Environment, Profile

__all__ = ["BINDING_MODES", "BusinessDoor", "Entry", "Environment", "Profile"]
