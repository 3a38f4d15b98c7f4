"""Types of fields: what a raw value of a page is converted to."""

from corral.extract.types.convert import TYPE_NAMES, convert
from corral.extract.types.model import Converted, TypeContext

__all__ = ["TYPE_NAMES", "Converted", "TypeContext", "convert"]
