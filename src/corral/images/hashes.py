"""Perceptual hashes and measures of small grey images."""

import numpy as np
from numpy.typing import NDArray

_SIDE = 32
_KEPT = 8
_NEIGHBOURS = 3
_Grey = NDArray[np.float32]


def _cosines() -> _Grey:
    """The first rows of the discrete cosine transform of 32 values, without the constant one."""
    rows = np.arange(1, _KEPT + 1, dtype=np.float32)[:, None]
    columns = np.arange(_SIDE, dtype=np.float32)[None, :]
    return np.cos(np.pi * rows * (2 * columns + 1) / (2 * _SIDE)).astype(np.float32)


_COSINES = _cosines()
_COLUMNS = _COSINES.T.copy()


def perceptual_hash(grey: _Grey) -> int:
    """64 bits: which low frequencies of a 32 x 32 image are above their median."""
    frequencies = _COSINES @ grey @ _COLUMNS
    return _pack(frequencies > np.median(frequencies))


def difference_hash(grey: _Grey) -> int:
    """64 bits: where an 8 x 8 image becomes brighter to the right."""
    rows = grey.reshape(_KEPT, 4, _SIDE).mean(axis=1)
    cells = rows.reshape(_KEPT, _KEPT, 4).mean(axis=2)
    following = np.roll(cells, -1, axis=1)
    return _pack(following > cells)


def measure_sharpness(grey: _Grey) -> float:
    """The mean absolute second difference of neighbouring pixels; 0 where there are not three in a row."""
    if min(grey.shape) < _NEIGHBOURS:
        return 0.0
    across = np.abs(grey[:, 2:] - 2 * grey[:, 1:-1] + grey[:, :-2]).mean()
    down = np.abs(grey[2:, :] - 2 * grey[1:-1, :] + grey[:-2, :]).mean()
    return float(across + down)


def _pack(bits: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(bits).tobytes(), "big")
