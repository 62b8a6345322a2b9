"""Arrays at cache-line boundaries. Matrix libraries may sum in another order for data at another alignment, so
resumed runs could differ in the last bit if buffers began anywhere."""

from __future__ import annotations

import numpy as np

LINE = 64


def aligned(shape: tuple[int, ...], dtype: np.typing.DTypeLike) -> np.ndarray:
    """Zeros of this shape that begin at a multiple of 64 bytes."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    raw = np.zeros(size + LINE, dtype=np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + size].view(kind).reshape(shape)
