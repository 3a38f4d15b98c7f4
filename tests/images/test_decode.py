"""What decoding makes of good, odd and hostile images."""

import struct
import zlib

import numpy as np
import pillow_heif
import pytest
from PIL import Image

from corral.domain.datasets.options import DatasetOptions, ImageRecipe, OutputFormat, ResizeMode, ValidationLevel
from corral.images.decode import process_image
from tests.images.builders import encode, picture

AS_IT_IS = DatasetOptions("out").recipe


def recipe(size: tuple[int, int], resize: ResizeMode = ResizeMode.FIT) -> ImageRecipe:
    return DatasetOptions("out", image_size=size, resize=resize, format=OutputFormat.JPEG).recipe


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF"])
def test_each_format_is_decoded_and_stored_as_it_came(form: str) -> None:
    body = encode(picture(1), form)
    facts, output = process_image(body, AS_IT_IS)
    assert (facts.format, facts.width, facts.height, facts.broken) == (form.lower(), 160, 120, "")
    assert facts.is_decoded
    assert facts.phash is not None
    assert output == b""
    assert facts.out_sha256 == facts.sha256
    assert facts.out_size == len(body)


def test_heic_is_decoded() -> None:
    pillow_heif.register_heif_opener()
    facts, _ = process_image(encode(picture(1), "HEIF"), AS_IT_IS)
    assert (facts.format, facts.width, facts.broken) == ("heif", 160, "")


@pytest.mark.parametrize(
    "mode, size",
    [
        (ResizeMode.FIT, (64, 48)),
        (ResizeMode.PAD, (64, 64)),
        (ResizeMode.CROP, (64, 64)),
        (ResizeMode.STRETCH, (64, 64)),
    ],
)
def test_each_way_to_resize(mode: ResizeMode, size: tuple[int, int]) -> None:
    facts, output = process_image(encode(picture(1)), recipe((64, 64), mode))
    assert (facts.out_width, facts.out_height) == size
    assert facts.out_size == len(output)
    assert (facts.width, facts.height) == (160, 120)


def test_a_small_image_is_not_enlarged_to_fit() -> None:
    facts, _ = process_image(encode(picture(1)), recipe((640, 640)))
    assert (facts.out_width, facts.out_height) == (160, 120)


def test_the_orientation_of_exif_is_applied() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    facts, output = process_image(encode(picture(1), exif=exif), recipe((64, 64)))
    assert (facts.orientation, facts.width, facts.height) == (6, 120, 160)
    assert (facts.out_width, facts.out_height) == (48, 64)
    assert output


@pytest.mark.parametrize("mode", ["CMYK", "L", "P", "RGBA", "LA", "1", "I;16"])
def test_each_colour_mode_becomes_a_jpeg(mode: str) -> None:
    image = Image.new("I;16", (160, 120), 30_000) if mode == "I;16" else picture(1).convert(mode)
    form = "TIFF" if mode == "CMYK" else "PNG"
    facts, output = process_image(encode(image, form), recipe((64, 64)))
    assert facts.broken == ""
    assert facts.out_format == "jpeg"
    assert output[:2] == b"\xff\xd8"


def test_transparency_becomes_white() -> None:
    clear = Image.new("RGBA", (100, 100), (0, 0, 0, 0))
    facts, _ = process_image(encode(clear, "PNG"), recipe((64, 64)))
    assert facts.brightness > 250


def test_an_animation_is_recognized_and_its_first_frame_used() -> None:
    body = encode(picture(1), "GIF", save_all=True, append_images=[picture(2)])
    facts, _ = process_image(body, recipe((64, 64)))
    assert facts.is_animated
    assert facts.broken == ""


def test_a_bomb_is_refused_before_it_is_decoded() -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack("!I", len(data)) + kind + data + struct.pack("!I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack("!IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    body = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    facts, _ = process_image(body, AS_IT_IS)
    assert (facts.broken, facts.width) == ("too_many_pixels", 60_000)


@pytest.mark.parametrize(
    "body, reason",
    [
        (b"", "empty"),
        (b"<!DOCTYPE html><title>404</title>", "html"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "svg"),
        (b'<?xml version="1.0"?><!-- a picture --><svg xmlns="http://www.w3.org/2000/svg"/>', "svg"),
        (b"\n<!-- not found --><html><p>404", "html"),
        (b"<head><title>404</title></head>", "html"),
        (b"not an image at all", "no_image"),
        (b"\0\0\0\x18ftypmp42" + bytes(200), "no_image"),
        (b"\xff\xd8\xff", "corrupt"),
        (encode(picture(1), "WEBP")[:-200], "corrupt"),
        (encode(picture(1), "AVIF")[:-200], "truncated"),
        (encode(picture(1), "GIF")[:-900], "truncated"),
        (encode(picture(1), "TIFF")[:-900], "truncated"),
        (encode(picture(1))[:-900], "truncated"),
        (encode(picture(1), "PNG")[:-900], "truncated"),
    ],
)
def test_broken_bytes_have_a_reason(body: bytes, reason: str) -> None:
    facts, output = process_image(body, AS_IT_IS)
    assert (facts.broken, output) == (reason, b"")
    assert " at 0x" not in facts.detail, "the same file has the same detail"


def test_a_text_that_inflates_is_refused() -> None:
    plain = encode(picture(1), "PNG")
    packed = b"Comment\0\0" + zlib.compress(b"a" * 50_000_000)
    chunk = struct.pack("!I", len(packed)) + b"zTXt" + packed + struct.pack("!I", zlib.crc32(b"zTXt" + packed))
    start = plain.index(b"IDAT") - 4
    facts, _ = process_image(plain[:start] + chunk + plain[start:], AS_IT_IS)
    assert facts.broken == "corrupt"


def test_the_first_picture_of_a_stereo_photograph_is_used() -> None:
    body = encode(picture(1), "MPO", save_all=True, append_images=[picture(2)])
    facts, _ = process_image(body, AS_IT_IS)
    assert (facts.format, facts.is_animated, facts.broken) == ("jpeg", False, "")


@pytest.mark.parametrize("size", [(1, 1), (2, 50), (1, 5000)])
def test_the_smallest_images_have_finite_measures(size: tuple[int, int]) -> None:
    strict = DatasetOptions("out", validation=ValidationLevel.STRICT).recipe
    facts, _ = process_image(encode(Image.new("RGB", size, "red"), "PNG"), strict)
    assert (facts.broken, facts.sharpness, facts.contrast) == ("", 0.0, 0.0)


@pytest.mark.parametrize("most, brightness", [(1.0, 255), (200.0, 200), (65535.0, 255), (float("inf"), 255)])
def test_numbers_of_any_range_become_eight_bits(most: float, brightness: int) -> None:
    values = np.full((64, 64), most, dtype=np.float32)
    facts, output = process_image(encode(Image.fromarray(values), "TIFF"), recipe((64, 64)))
    assert output
    assert facts.brightness == pytest.approx(brightness, abs=1)
    values[:32] = np.nan
    facts, _ = process_image(encode(Image.fromarray(values), "TIFF"), recipe((64, 64)))
    assert facts.brightness < brightness


def test_a_fast_look_does_not_decode() -> None:
    fast = DatasetOptions("out", validation=ValidationLevel.FAST).recipe
    assert fast.decodes  # near duplicates need pixels
    facts, _ = process_image(
        encode(picture(1))[:-900], ImageRecipe(None, ResizeMode.FIT, OutputFormat.ORIGINAL, 90, 10**8, decodes=False)
    )
    assert (facts.format, facts.width, facts.broken, facts.is_decoded) == ("jpeg", 160, "", False)


def test_copies_have_close_hashes_and_other_images_do_not() -> None:
    def hashes(body: bytes) -> tuple[int, int]:
        facts, _ = process_image(body, AS_IT_IS)
        assert facts.phash is not None
        assert facts.dhash is not None
        return facts.phash, facts.dhash

    first, _ = hashes(encode(picture(1), quality=95))
    smaller, _ = hashes(encode(picture(1).resize((120, 90)), quality=60))
    other, _ = hashes(encode(picture(2)))
    assert (first ^ smaller).bit_count() <= 6
    assert (first ^ other).bit_count() > 15


def test_blur_and_sharpness_are_measured_for_strict_validation() -> None:
    strict = DatasetOptions("out", validation=ValidationLevel.STRICT).recipe
    plain, _ = process_image(encode(Image.new("RGB", (100, 100), "red")), strict)
    noisy, _ = process_image(encode(Image.effect_noise((100, 100), 80).convert("RGB")), strict)
    assert plain.sharpness < 1 < noisy.sharpness
