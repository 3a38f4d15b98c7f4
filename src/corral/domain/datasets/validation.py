"""Decide whether a downloaded image is valid, at one of three levels."""

from corral.domain.datasets.image import ImageFacts
from corral.domain.datasets.options import AnimationRule, DatasetOptions, ValidationLevel

# Below these values an image shows nothing: one colour, or a smear.
_MIN_CONTRAST = 3.0
_MIN_SHARPNESS = 2.0
_MAX_ASPECT = 10.0


def judge_image(facts: ImageFacts, options: DatasetOptions) -> str:
    """Return the reason for quarantine; empty for a valid image."""
    level = options.validation
    if facts.size == 0:
        return "empty"
    if not facts.format:
        return facts.broken or "no_image"
    if facts.broken and level is not ValidationLevel.FAST:
        return facts.broken
    # Limits of the caller that only need the header: every level applies them.
    if facts.width * facts.height > options.max_pixels:
        return "too_many_pixels"
    if facts.width < options.min_width or facts.height < options.min_height:
        return "too_small"
    if facts.is_animated and options.animated is AnimationRule.REFUSE:
        return "animated"
    return _judge_content(facts) if level is ValidationLevel.STRICT else ""


def _judge_content(facts: ImageFacts) -> str:
    if facts.contrast < _MIN_CONTRAST:
        return "one_colour"
    if facts.sharpness < _MIN_SHARPNESS:
        return "blurred"
    if max(facts.width, facts.height) > _MAX_ASPECT * min(facts.width, facts.height):
        return "too_narrow"
    return ""
