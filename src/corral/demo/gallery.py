"""A gallery of pictures, drawn on request, so that there are no files to package."""

import io
import random
from functools import lru_cache

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from corral.demo import pages

ANIMALS = ("horse", "goat", "hen")
PICTURES = 12
_SIZES = {"small": (160, 120), "large": (640, 480)}
_SMALL_SEED = (8, 6)
# The last picture of each animal is a copy of the first one in another quality; one is broken.
_COPY, _BROKEN = PICTURES, 7


async def gallery(_request: Request) -> Response:
    links = "".join(f'<li><a href="/gallery/{animal}">{animal.title()}s</a></li>' for animal in ANIMALS)
    return HTMLResponse(pages.document("Gallery", f"<h1>Gallery</h1><ul>{links}</ul>"))


async def animal_page(request: Request) -> Response:
    animal = _animal_of(request)
    figures = "".join(
        f'<figure><img src="/gallery/{animal}/{number}.jpg?size=small"'
        f' srcset="/gallery/{animal}/{number}.jpg?size=small 160w, /gallery/{animal}/{number}.jpg?size=large 640w"'
        f' alt="A {animal} in the paddock, number {number}"></figure>'
        for number in range(1, PICTURES + 1)
    )
    return HTMLResponse(pages.document(f"{animal.title()}s", f"<h1>{animal.title()}s</h1>{figures}"))


async def picture(request: Request) -> Response:
    animal, number = _animal_of(request), int(request.path_params["number"])
    size = request.query_params.get("size", "small")
    if not 1 <= number <= PICTURES or size not in _SIZES:
        raise HTTPException(404, "There is no such picture.")
    body = _draw(animal, number, size)
    return Response(body[: len(body) // 2] if number == _BROKEN else body, media_type="image/jpeg")


def _animal_of(request: Request) -> str:
    animal = str(request.path_params["animal"])
    if animal not in ANIMALS:
        raise HTTPException(404, "There is no such animal.")
    return animal


@lru_cache(maxsize=len(ANIMALS) * PICTURES * len(_SIZES))
def _draw(animal: str, number: int, size: str) -> bytes:
    from PIL import Image  # noqa: PLC0415 - the rest of the site does without it

    dice = random.Random(f"{animal} {1 if number == _COPY else number}")
    seed = Image.new("RGB", _SMALL_SEED)
    seed.putdata([tuple(dice.randrange(256) for _ in range(3)) for _ in range(_SMALL_SEED[0] * _SMALL_SEED[1])])
    target = io.BytesIO()
    seed.resize(_SIZES[size], Image.Resampling.BICUBIC).save(target, "JPEG", quality=60 if number == _COPY else 90)
    return target.getvalue()


ROUTES = [
    Route("/gallery", gallery),
    Route("/gallery/{animal}", animal_page),
    Route("/gallery/{animal}/{number:int}.jpg", picture),
]
