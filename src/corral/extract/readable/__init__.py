"""The readable content of a page: what it is about, without navigation, notices, related links and comments."""

from corral.extract.readable.readable import Readable, readable_of

__all__ = ("Readable", "readable_of")
