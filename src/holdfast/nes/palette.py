"""Palette indexes to colours: RGB and gray tables for the 64 colours under each of the 8 emphasis settings.

The 64 RGB values are those of the 2C02 as given on the NESdev wiki ("PPU palettes"). Emphasis darkens the channels it
does not name, by about a quarter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROWS = (
    "545454 001e74 081090 300088 440064 5c0030 540400 3c1800 202a00 083a00 004000 003c00 00323c 000000 000000 000000",
    "989698 084cc4 3032ec 5c1ee4 8814b0 a01464 982220 783c00 545a00 287200 087c00 007628 006678 000000 000000 000000",
    "eceeec 4c9aec 787cec b062ec e454ec ec58b4 ec6a64 d48820 a0aa00 74c400 4cd020 38cc6c 38b4cc 3c3c3c 000000 000000",
    "eceeec a8ccec bcbcec d4b2ec ecaeec ecaed4 ecb4b0 e4c490 ccd278 b4de78 a8e290 98e2b4 a0d6e4 a0a2a0 000000 000000",
)
_DARKER = 0.746

_colours = np.array([list(bytes.fromhex(text)) for row in _ROWS for text in row.split()], np.float64)


def _emphasised(bits: int) -> np.ndarray:
    kept = np.array([bits & 1, bits & 2, bits & 4], bool)  # red, green, blue
    factors = np.where(kept, 1.0, _DARKER) if bits else np.ones(3)
    return _colours * factors


RGB = np.stack([_emphasised(bits) for bits in range(8)]).round().astype(np.uint8)  # [8, 64, 3]

GRAY_WEIGHTS = {"bt601": (299, 587, 114), "mean": (1, 1, 1)}  # of red, green, blue; the first is ITU-R BT.601 luma


def _gray(rgb: NDArray[np.uint8], weights: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Weighted means in whole numbers, rounded half up."""
    return ((2 * (rgb.astype(np.int64) @ np.array(weights)) + sum(weights)) // (2 * sum(weights))).astype(np.uint8)


def gray_table(kind: str) -> NDArray[np.uint8]:
    """[64]: the colours without emphasis in gray."""
    return _gray(RGB[0], GRAY_WEIGHTS[kind])


GRAY = _gray(RGB, GRAY_WEIGHTS["bt601"])  # [8, 64]
