"""The error of a stream, in a module of its own: a command names it without loading the verification."""

__all__ = ["StreamError"]


class StreamError(RuntimeError):
    """A stream could not be verified to its end, which is no verdict on it."""
