"""Messages between an image pool and its decoder processes.

A decoder first sends `READY`. A request is `request_header`, a JSON recipe and the bytes of the image. An answer is
`answer_header`, JSON facts and the bytes of the new image, if the recipe makes one.
"""

import struct
from dataclasses import astuple, dataclass

import msgspec

from corral.domain.datasets.image import ImageFacts
from corral.domain.datasets.options import MIB, ImageRecipe

READY = b"."
request_header = struct.Struct("!IQ")
answer_header = struct.Struct("!IQ")


@dataclass(frozen=True, slots=True)
class DecoderLimits:
    """Limits for decoding one image, and the number of decoder processes."""

    cpu_s: float = 10.0
    wall_s: float = 60.0
    address_bytes: int = 1536 * MIB
    processes: int = 2

    def __str__(self) -> str:
        return ",".join(map(str, astuple(self)))

    @classmethod
    def parse(cls, text: str) -> "DecoderLimits":
        cpu_s, wall_s, *counts = text.split(",")
        return cls(float(cpu_s), float(wall_s), *map(int, counts))


_recipes = msgspec.json.Decoder(ImageRecipe)
_facts = msgspec.json.Decoder(ImageFacts)
encode_recipe = msgspec.json.Encoder().encode
encode_facts = msgspec.json.Encoder().encode


def decode_recipe(encoded: bytes) -> ImageRecipe:
    return _recipes.decode(encoded)


def pop_answer(received: bytearray) -> tuple[ImageFacts, bytes] | None:
    """Remove the first complete answer from the buffer; None if there is none."""
    if len(received) < answer_header.size:
        return None
    facts_bytes, image_bytes = answer_header.unpack_from(received)
    middle = answer_header.size + facts_bytes
    end = middle + image_bytes
    if len(received) < end:
        return None
    with memoryview(received) as view:
        facts, image = _facts.decode(view[answer_header.size : middle]), bytes(view[middle:end])
    del received[:end]
    return facts, image
