"""Exact statistics."""
