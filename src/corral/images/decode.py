"""One image: detect its format, decode it within limits, measure and hash it, and make the stored image."""

import hashlib
import io
from typing import Any

import numpy as np
import pillow_heif
from numpy.typing import NDArray
from PIL import Image, JpegImagePlugin, UnidentifiedImageError

from corral.domain.datasets.image import ImageFacts
from corral.domain.datasets.options import ImageRecipe, OutputFormat, ResizeMode
from corral.images.hashes import difference_hash, measure_sharpness, perceptual_hash

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "HEIF")
_JPEG_FORMATS = ("JPEG", "MPO")
_ORIENTATION = 0x0112
_WHITE = (255, 255, 255)
_HASH_SIDE = 32
# Reduces an image by area, as sharp as bicubic at half the cost.
_FILTER = Image.Resampling.HAMMING
# One pass over a large image instead of a filter with a large support.
_REDUCING_GAP = 2.0
_MAX_DETAIL = 200
_DETAIL_SIDE = 256
_SNIFF_BYTES = 512
_QUOTED_BYTES = 24
_EIGHT_BITS = 255
_WORD = 65535.0
# First bytes of the decoded formats, and the brands of those that use the container format of videos.
_STARTS = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"BM", b"II*\0", b"MM\0*")
_BRANDS = (b"avif", b"avis", b"heic", b"heix", b"mif1", b"msf1")
_PAGE_MARKS = (b"<!doctype html", b"<html", b"<head", b"<body")
_ENCODED = frozenset(form.value for form in (OutputFormat.JPEG, OutputFormat.PNG, OutputFormat.WEBP))
_FIRST_QUARTER_TURN = 5
# How to transpose the stored pixels, by EXIF orientation.
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

pillow_heif.register_heif_opener()
Image.MAX_IMAGE_PIXELS = None  # the size is compared with the limit of the recipe before anything is decoded


def process_image(body: bytes, recipe: ImageRecipe) -> tuple[ImageFacts, bytes]:
    """Return the facts about an image, and the bytes to store if they differ from the input."""
    facts: dict[str, Any] = {"sha256": hashlib.sha256(body).hexdigest(), "size": len(body)}
    if not body:
        return ImageFacts(**facts, broken="empty"), b""
    try:
        image = Image.open(io.BytesIO(body), formats=FORMATS)
    except MemoryError:
        raise
    except UnidentifiedImageError:
        return ImageFacts(**facts, broken=_name_unknown(body), detail=f"it begins with {body[:_QUOTED_BYTES]!r}"), b""
    except Exception as error:  # noqa: BLE001 - decoders raise anything for hostile bytes
        return ImageFacts(**facts, broken=_name_failure(error), detail=_describe(error)), b""
    with image:
        facts |= _read_header(image)
        if not recipe.decodes:
            return ImageFacts(**facts, **_describe_output(facts, body)), b""
        if image.width * image.height > recipe.max_pixels:
            return ImageFacts(**facts, broken="too_many_pixels", detail=f"{image.width} x {image.height}"), b""
        try:
            return _decode(image, body, recipe, facts)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001
            return ImageFacts(**facts, broken=_name_failure(error), detail=_describe(error)), b""


def _read_header(image: Image.Image) -> dict[str, Any]:
    form = "jpeg" if image.format in _JPEG_FORMATS else str(image.format).lower()
    is_animated = bool(getattr(image, "is_animated", False)) and form != "jpeg"
    return {
        "format": form,
        "width": image.width,
        "height": image.height,
        "mode": image.mode,
        "is_animated": is_animated,
    }


def _decode(image: Image.Image, body: bytes, recipe: ImageRecipe, facts: dict[str, Any]) -> tuple[ImageFacts, bytes]:
    orientation = _read_orientation(image)
    facts["orientation"] = orientation
    if orientation >= _FIRST_QUARTER_TURN:
        facts |= {"width": image.height, "height": image.width}
    if recipe.size is not None and isinstance(image, JpegImagePlugin.JpegImageFile):
        wanted = recipe.size if orientation < _FIRST_QUARTER_TURN else (recipe.size[1], recipe.size[0])
        # libjpeg decodes at a half, a quarter or an eighth, never below the wanted size.
        image.draft("RGB", _scale_to(image.size, wanted, recipe.resize))
    image.load()
    pixels = _to_rgb(image)
    if (turn := _TURNS.get(orientation)) is not None:
        pixels = pixels.transpose(turn)
    output = b""
    if recipe.changes_pixels:
        pixels = _resize(pixels, recipe)
        form = facts["format"] if recipe.format is OutputFormat.ORIGINAL else recipe.format.value
        form = form if form in _ENCODED else OutputFormat.JPEG.value
        output = _encode(pixels, form, recipe.quality)
        facts |= {"out_format": form, "out_width": pixels.width, "out_height": pixels.height}
        facts |= {"out_sha256": hashlib.sha256(output).hexdigest(), "out_size": len(output)}
    else:
        facts |= _describe_output(facts, body)
    return ImageFacts(**facts, **_measure(pixels, recipe), is_decoded=True), output


def _describe_output(facts: dict[str, Any], body: bytes) -> dict[str, Any]:
    """Return the output facts of an image that is stored unchanged."""
    return {
        "out_format": facts["format"],
        "out_width": facts["width"],
        "out_height": facts["height"],
        "out_sha256": facts["sha256"],
        "out_size": len(body),
    }


def _read_orientation(image: Image.Image) -> int:
    if "exif" not in image.info and image.format != "TIFF":
        return 1
    value = image.getexif().get(_ORIENTATION, 1)
    return value if isinstance(value, int) and value in _TURNS else 1


def _scale_to(size: tuple[int, int], wanted: tuple[int, int], mode: ResizeMode) -> tuple[int, int]:
    """Return the size of the whole image before padding or cropping; FIT never enlarges it."""
    if mode is ResizeMode.STRETCH:
        return wanted
    ratios = (wanted[0] / size[0], wanted[1] / size[1])
    ratio = max(ratios) if mode is ResizeMode.CROP else min(ratios)
    if mode is ResizeMode.FIT:
        ratio = min(ratio, 1.0)
    return max(1, round(size[0] * ratio)), max(1, round(size[1] * ratio))


def _resize(image: Image.Image, recipe: ImageRecipe) -> Image.Image:
    if recipe.size is None:
        return image
    scaled = _scale_to(image.size, recipe.size, recipe.resize)
    # A decoder that already reduced the image may have rounded by a pixel.
    if scaled != image.size:
        image = image.resize(scaled, _FILTER, reducing_gap=_REDUCING_GAP)
    left, top = (recipe.size[0] - image.width) // 2, (recipe.size[1] - image.height) // 2
    if recipe.resize is ResizeMode.PAD and image.size != recipe.size:
        padded = Image.new("RGB", recipe.size, _WHITE)
        padded.paste(image, (left, top))
        return padded
    if recipe.resize is ResizeMode.CROP and image.size != recipe.size:
        return image.crop((-left, -top, recipe.size[0] - left, recipe.size[1] - top))
    return image


def _to_rgb(image: Image.Image) -> Image.Image:
    """Convert to RGB: transparency becomes white, 16-bit grey and floating-point values become 8 bits."""
    if image.mode == "RGB":
        return image
    if image.mode.startswith("I") or image.mode == "F":
        return Image.fromarray(_to_eight_bits(np.asarray(image, dtype=np.float32))).convert("RGB")
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        layer = image.convert("RGBA")
        background = Image.new("RGB", layer.size, _WHITE)
        background.paste(layer, mask=layer.getchannel("A"))
        return background
    return image.convert("RGB")


def _to_eight_bits(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Scale values to 8 bits. By their maximum they are fractions (1), bytes (255) or 16-bit words."""
    values = np.nan_to_num(values, nan=0.0, posinf=_WORD, neginf=0.0)
    largest = float(values.max()) if values.size else 0.0
    scale = _EIGHT_BITS if largest <= 1 else 1.0 if largest <= _EIGHT_BITS else _EIGHT_BITS / _WORD
    scaled: NDArray[np.uint8] = np.clip(values * scale, 0, _EIGHT_BITS).astype(np.uint8)
    return scaled


def _encode(image: Image.Image, form: str, quality: int) -> bytes:
    target = io.BytesIO()
    if form == OutputFormat.PNG:
        image.save(target, "PNG", compress_level=6)
    elif form == OutputFormat.WEBP:
        image.save(target, "WEBP", quality=quality)
    else:
        image.save(target, "JPEG", quality=quality)
    return target.getvalue()


def _measure(image: Image.Image, recipe: ImageRecipe) -> dict[str, Any]:
    side = (_HASH_SIDE, _HASH_SIDE)
    if image.width >= 2 * _HASH_SIDE and image.height >= 2 * _HASH_SIDE:
        grey = image.reduce((image.width // _HASH_SIDE, image.height // _HASH_SIDE)).convert("L")
        grey = grey.resize(side, Image.Resampling.BOX)
    else:
        grey = image.convert("L").resize(side, Image.Resampling.BILINEAR)
    values = np.asarray(grey, dtype=np.float32)
    facts: dict[str, Any] = {
        "phash": perceptual_hash(values),
        "dhash": difference_hash(values),
        "brightness": round(float(values.mean()), 2),
        "contrast": round(float(values.std()), 2),
    }
    if recipe.inspects:
        detail = image.convert("L")
        detail.thumbnail((_DETAIL_SIDE, _DETAIL_SIDE), Image.Resampling.BOX)
        facts["sharpness"] = round(measure_sharpness(np.asarray(detail, dtype=np.float32)), 2)
    return facts


def _name_unknown(body: bytes) -> str:
    start = body[:_SNIFF_BYTES].lower()
    if any(mark in start for mark in _PAGE_MARKS):
        return "html"
    if b"<svg" in start:
        return "svg"
    is_video_like = body[4:8] == b"ftyp" and body[8:12] in _BRANDS
    is_webp = body[:4] == b"RIFF" and body[8:12] == b"WEBP"
    return "corrupt" if is_video_like or is_webp or body.startswith(_STARTS) else "no_image"


def _name_failure(error: Exception) -> str:
    text = str(error).lower()
    return "truncated" if "truncated" in text or isinstance(error, EOFError) else "corrupt"


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:_MAX_DETAIL]
