"""Judges Targets and State Controllers from outside, over HTTP, rule by rule."""
