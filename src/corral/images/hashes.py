"""Perceptual hashes and measures of small grey images."""

import numpy as np
from numpy.typing import NDArray

_SIDE = 32
_GRID = 8  # rows and columns of a hash, one bit each
_NEIGHBOURS = 3
_Grey = NDArray[np.float32]


def _cosines() -> _Grey:
    """Return the first rows of the discrete cosine transform of 32 values, without the constant one."""
    rows = np.arange(1, _GRID + 1, dtype=np.float32)[:, None]
    columns = np.arange(_SIDE, dtype=np.float32)[None, :]
    return np.cos(np.pi * rows * (2 * columns + 1) / (2 * _SIDE)).astype(np.float32)


_COSINES = _cosines()
_COLUMNS = _COSINES.T.copy()
_MIDDLE = _GRID * _GRID // 2 - 1
_CELLS = np.repeat(np.eye(_GRID, dtype=np.float32), _SIDE // _GRID, axis=1)  # adds up groups of four values
_FOLLOWING = np.arange(1, _GRID + 1) % _GRID  # the cell to the right; after the last one, the first


def perceptual_hash(grey: _Grey) -> int:
    """Return 64 bits: which low frequencies of a 32 x 32 image are above their median."""
    frequencies = _COSINES @ grey @ _COLUMNS
    # The median of an even number of values; np.median takes several times as long for 64 of them.
    low, high = np.sort(frequencies, axis=None)[_MIDDLE : _MIDDLE + 2]
    return _pack(frequencies > (low + high) / 2)


def difference_hash(grey: _Grey) -> int:
    """Return 64 bits: where an 8 x 8 image becomes brighter to the right."""
    cells = _CELLS @ grey @ _CELLS.T
    return _pack(cells[:, _FOLLOWING] > cells)


def measure_sharpness(grey: _Grey) -> float:
    """Return the mean absolute second difference of neighbouring pixels; 0 if a side has fewer than three."""
    if min(grey.shape) < _NEIGHBOURS:
        return 0.0
    across = np.abs(grey[:, 2:] - 2 * grey[:, 1:-1] + grey[:, :-2]).mean()
    down = np.abs(grey[2:, :] - 2 * grey[1:-1, :] + grey[:-2, :]).mean()
    return float(across + down)


def _pack(bits: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(bits).tobytes(), "big")
