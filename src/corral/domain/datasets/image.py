"""One image of a dataset: its origin, its facts and its state."""

import hashlib
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec


class ImageState(StrEnum):
    PENDING = "pending"
    LEASED = "leased"  # held by the run that downloads it
    DOWNLOADED = "downloaded"
    FAILED = "failed"  # the download failed for good
    REFUSED = "refused"  # a rule forbids its download
    QUARANTINED = "quarantined"  # downloaded, but not valid
    DUPLICATE = "duplicate"
    KEPT = "kept"  # part of the dataset


# States of images that have been downloaded.
STORED = (ImageState.DOWNLOADED, ImageState.QUARANTINED, ImageState.DUPLICATE, ImageState.KEPT)
# States that make a build partial, because the caller did not request them.
LEFT_OUT = (ImageState.FAILED, ImageState.REFUSED, ImageState.QUARANTINED)


class FoundImage(msgspec.Struct, frozen=True, array_like=True):
    """An image address that a source found."""

    url: str
    category: str
    keyword: str = ""
    page_url: str = ""
    caption: str = ""
    source: str = ""
    refusal: str = ""  # why it must not be downloaded

    @property
    def key(self) -> str:
        return image_key(self.url)


def image_key(url: str) -> str:
    """Return the key of an image: one address is one image, whichever pages show it."""
    return hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:24]


class ImageFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The results of decoding the bytes of an image."""

    sha256: str = ""
    size: int = 0
    format: str = ""  # as detected: jpeg, png, …; empty if it is no image
    width: int = 0
    height: int = 0
    mode: str = ""
    is_animated: bool = False
    orientation: int = 1  # of EXIF
    broken: str = ""  # why it cannot be decoded
    detail: str = ""
    is_decoded: bool = False
    phash: int | None = None  # 64 bits, perceptual
    dhash: int | None = None
    brightness: float = 0.0
    contrast: float = 0.0
    sharpness: float = 0.0
    # The stored image: the bytes as received, or the resized image.
    out_format: str = ""
    out_width: int = 0
    out_height: int = 0
    out_sha256: str = ""
    out_size: int = 0


class PackLocation(NamedTuple):
    """The location of the bytes of an image: a pack file, and the range in it."""

    pack: str
    start: int
    size: int


class ImageRow(msgspec.Struct, frozen=True, array_like=True):
    """An image as stored."""

    key: str
    seq: int
    url: str
    category: str
    keyword: str
    page_url: str
    caption: str
    source: str
    state: str
    reason: str
    attempt: int
    run_id: str
    pack: str
    start: int
    size: int
    recipe: str
    is_indexed: bool
    duplicate_of: str
    distance: int
    facts: ImageFacts

    @property
    def location(self) -> PackLocation:
        return PackLocation(self.pack, self.start, self.size)


class ImageResult(msgspec.Struct, frozen=True, array_like=True):
    """The result of one image of a batch."""

    key: str
    state: str
    reason: str = ""
    attempt: int = 0
    due_in_s: float = 0.0
    run_id: str = ""
    pack: str = ""
    start: int = 0
    size: int = 0
    recipe: str = ""
    facts: ImageFacts | None = None


class ImageVerdict(msgspec.Struct, frozen=True, array_like=True):
    """The state that a later step gives a downloaded image."""

    key: str
    state: str
    reason: str = ""
    duplicate_of: str = ""
    distance: int = 0


class NearPair(msgspec.Struct, frozen=True, array_like=True):
    """Two images whose perceptual hashes are close."""

    first: str
    second: str
    distance: int


def describe_state(counts: list[tuple[str, str, int]]) -> dict[str, Any]:
    """Return the counts by state and by reason, as documents contain them."""
    states: dict[str, int] = {}
    reasons: dict[str, int] = {}
    for state, reason, count in counts:
        states[state] = states.get(state, 0) + count
        if reason and state != ImageState.KEPT:
            reasons[f"{state}:{reason}"] = reasons.get(f"{state}:{reason}", 0) + count
    return {"states": states, "reasons": reasons}
