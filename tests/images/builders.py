"""Small images made in memory."""

import io
import random

from PIL import Image


def picture(seed: int, size: tuple[int, int] = (160, 120)) -> Image.Image:
    """Soft random patches: different seeds look different, resized copies look alike."""
    dice = random.Random(seed)
    small = Image.new("RGB", (8, 6))
    small.putdata([(dice.randrange(256), dice.randrange(256), dice.randrange(256)) for _ in range(48)])
    return small.resize(size, Image.Resampling.BICUBIC)


def encode(image: Image.Image, form: str = "JPEG", **options: object) -> bytes:
    target = io.BytesIO()
    image.save(target, form, **options)
    return target.getvalue()
