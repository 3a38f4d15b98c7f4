"""Many images with known duplicates: what a build should find, and what it finds."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from PIL import Image, ImageEnhance

from tests.datasets.site import Reply
from tests.images.builders import encode, picture

_EXACT_EVERY, _NEAR_EVERY = 10, 8


@dataclass
class KnownImages:
    """By path: the bytes, the group of images that show the same, and what is wrong with it."""

    bodies: dict[str, bytes] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)  # exact or near, of groups with two images
    broken: set[str] = field(default_factory=set)
    flaky: set[str] = field(default_factory=set)

    def answer(self, path: str, before: int) -> Reply | None:
        body = self.bodies.get(path)
        if body is None:
            return None
        return Reply(b"busy", 503) if path in self.flaky and before == 0 else Reply(body)

    def score(self, lineage: Iterable[Mapping[str, Any]], kind: str) -> float:
        """The F1 score of the duplicates of one kind."""
        entries = {entry["url"].partition("/images")[2]: entry for entry in lineage}
        path_of = {entry["key"]: path for path, entry in entries.items()}
        expected = sum(1 for each in self.kinds.values() if each == kind)
        found = [entry for entry in entries.values() if entry.get("duplicate_of") and entry["reason"] == kind]
        right = sum(
            1
            for entry in found
            if self.groups["/images" + path_of[entry["key"]]] == self.groups["/images" + path_of[entry["duplicate_of"]]]
        )
        return 2 * right / (len(found) + expected)


def make_images(count: int, dice: random.Random) -> KnownImages:
    """3 % are broken, 5 % answer 503 at first, a tenth has an exact copy, an eighth a near one."""
    known = KnownImages()
    number = 0
    while len(known.bodies) < count:
        group, first = f"group-{number}", picture(number + dice.randrange(10**6) * 10**6)
        number += 1
        body = encode(first, quality=90)
        path = _add(known, group, body)
        if number % _EXACT_EVERY == 0:
            _add(known, group, body)
            known.kinds[group] = "exact"
        elif number % _NEAR_EVERY == 0:
            _add(known, group, encode(_vary(first, dice), quality=dice.randrange(45, 80)))
            known.kinds[group] = "near"
        elif number % 33 == 0:
            known.bodies[path] = body[: len(body) // 2]
            known.broken.add(path)
        elif number % 20 == 1:
            known.flaky.add(path)
    return known


def _add(known: KnownImages, group: str, body: bytes) -> str:
    path = f"/images/cat-{len(known.bodies)}.jpg"
    known.bodies[path], known.groups[path] = body, group
    return path


def _vary(image: Image.Image, dice: random.Random) -> Image.Image:
    how = dice.randrange(3)
    if how == 0:
        return image.resize((image.width * 3 // 4, image.height * 3 // 4))
    if how == 1:
        return ImageEnhance.Brightness(image).enhance(dice.uniform(0.85, 1.15))
    return image.crop((2, 1, image.width - 2, image.height - 1))
