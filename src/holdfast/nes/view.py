"""What worlds show a policy, as kernels for one lane: a small gray picture of a step's last two frames.

`plan_view` works out once which source pixels feed each pixel of the small picture and with what whole-number weights;
`shrink` then needs no floating point, so its bytes are exact. `step_and_view` is the usual order of things (run the
step's frames, paint the last two, shrink); a world that looks at RAM between frames calls the parts itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.kit.compiled import inlined, kernel, parallel_kernel, prange
from holdfast.nes.draw import COLUMNS, LINES, ONES, WORDS_PER_LINE, paint
from holdfast.nes.errors import ViewError
from holdfast.nes.machine import run_frame, step_lane
from holdfast.nes.palette import GRAY_WEIGHTS, gray_table

int32: Any = np.int32
int64: Any = np.int64
uint64: Any = np.uint64
Array = Any

RESIZES = ("area", "nearest")
PICTURE_WORDS = LINES * WORDS_PER_LINE
BYTE, SEVEN_BYTES, COLOUR = np.uint64(8), np.uint64(56), np.uint64(0x3F)


class View(NamedTuple):
    """How 240 x 256 palette indexes become a small gray picture."""

    gray: NDArray[np.uint8]  # [64]
    first_line: NDArray[np.int64]  # [size]: of the lines that feed a row
    line_weights: NDArray[np.int32]  # [size, taps]
    columns: NDArray[np.int64]  # [taps, size]: the columns that feed a pixel
    column_weights: NDArray[np.int32]  # [taps, size]
    whole: int  # the weights of one small pixel together


def plan_view(gray: str = "bt601", resize: str = "area", crop_top: int = 0, size: int = 84) -> View:
    """`area` is the exact box average, rounded half up; `nearest` takes source pixel i * (n - 1) // (size - 1)."""
    if gray not in GRAY_WEIGHTS:
        raise ViewError(f"gray is {gray!r}; it can be {', '.join(GRAY_WEIGHTS)}")
    if resize not in RESIZES:
        raise ViewError(f"resize is {resize!r}; it can be {', '.join(RESIZES)}")
    if not 2 <= size <= LINES:
        raise ViewError(f"size is {size}; it can be 2 to {LINES}")
    if not 0 <= crop_top <= LINES - size:
        raise ViewError(f"crop_top is {crop_top}; with {size} rows it can be 0 to {LINES - size}")
    taps = box_taps if resize == "area" else nearest_taps
    first_line, line_weights = taps(LINES - crop_top, size)
    first_column, column_weights = taps(COLUMNS, size)
    columns = np.ascontiguousarray((first_column[:, None] + np.arange(column_weights.shape[1])).T)
    whole = int(line_weights[0].sum()) * int(column_weights[0].sum())
    return View(
        gray_table(gray), first_line + crop_top, line_weights, columns, np.ascontiguousarray(column_weights.T), whole
    )


def box_taps(length: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Small pixel i covers [i * length, (i + 1) * length) on a scale where a source pixel is `size` long."""
    first = np.arange(size, dtype=np.int64) * length // size
    taps = max(-(-(i + 1) * length // size) - i * length // size for i in range(size))
    first = np.minimum(first, length - taps)  # weights of 0 keep the last ones inside
    pixels = first[:, None] + np.arange(taps)
    begin = np.maximum(pixels * size, np.arange(size)[:, None] * length)
    end = np.minimum((pixels + 1) * size, np.arange(1, size + 1)[:, None] * length)
    return first, np.maximum(end - begin, 0).astype(np.int32)


def nearest_taps(length: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    return np.arange(size, dtype=np.int64) * (length - 1) // (size - 1), np.ones((size, 1), np.int32)


@inlined
def gray_group(gray: Array, group: Any) -> Any:
    """Eight palette indexes to gray values."""
    turned = uint64(0)
    for shift in range(0, 64, 8):
        turned |= uint64(gray[int64((group >> uint64(shift)) & COLOUR)]) << uint64(shift)
    return turned


@kernel
def brighter_gray(gray: Array, first: Array, second: Array, out: Array) -> None:
    """Two pictures in groups of eight pixels: the brighter gray value of each pixel. Most groups are of one colour,
    and most are the same in both pictures, which saves the look-ups."""
    for index in range(first.shape[0]):
        one, other = first[index], second[index]
        if one == other and one == (one >> BYTE | one << SEVEN_BYTES):
            out[index] = uint64(gray[int64(one & COLOUR)]) * ONES
        elif one == other:
            out[index] = gray_group(gray, one)
        else:
            turned = uint64(0)
            for shift in range(0, 64, 8):
                place = uint64(shift)
                brighter = max(gray[int64((one >> place) & COLOUR)], gray[int64((other >> place) & COLOUR)])
                turned |= uint64(brighter) << place
            out[index] = turned


@kernel
def shrink(view: View, first: Array, second: Array, out: Array) -> None:
    """Two painted pictures, uint64 [7680] (the same one twice: no pooling), into `out` uint8 [size, size]."""
    groups = np.empty(PICTURE_WORDS, np.uint64)
    brighter_gray(view.gray, first, second, groups)
    gray = groups.view(np.uint8)
    total, sums = np.empty(COLUMNS, np.int32), np.empty(out.shape[1], np.int32)
    # Half up without a division: the quarter outweighs the rounding of the product and is less than a sum's grain.
    half, share = view.whole * 0.5 + 0.25, 1.0 / view.whole
    for y in range(out.shape[0]):
        total[:] = 0
        for tap in range(view.line_weights.shape[1]):
            weight = view.line_weights[y, tap]
            start = ((view.first_line[y] + tap) & 0xFF) * COLUMNS  # & 0xFF: never negative, hence vector code
            for column in range(COLUMNS):
                total[column] += weight * int32(gray[start + column])
        sums[:] = 0
        for tap in range(view.column_weights.shape[0]):
            for x in range(out.shape[1]):
                sums[x] += view.column_weights[tap, x] * total[view.columns[tap, x] & 0xFF]
        for x in range(out.shape[1]):
            out[y, x] = int32((np.float64(sums[x]) + half) * share)


@kernel
def view_picture(row: Array, words: Array, rom: Array, view: View, out: Array) -> None:
    """The last finished picture of a lane alone, as after a reset."""
    groups = np.empty(PICTURE_WORDS, np.uint64)
    paint(row, words, rom, groups)
    shrink(view, groups, groups, out)


@kernel
def step_and_view(
    row: Array, words: Array, rom: Array, code: Array, buttons: Array, frames: int, view: View, out: Array
) -> None:
    """Hold buttons, uint8 [2], for some frames (at least 1); only the last two of them are painted."""
    earlier, last = np.empty(PICTURE_WORDS, np.uint64), np.empty(PICTURE_WORDS, np.uint64)
    step_lane(row, words, rom, code, buttons, frames - 1)
    pooled = frames > 1
    if pooled:
        paint(row, words, rom, earlier)
    run_frame(row, words, rom, code)
    paint(row, words, rom, last)
    shrink(view, earlier if pooled else last, last, out)


@parallel_kernel
def step_and_view_lanes(
    state: Array, words: Array, rom: Array, code: Array, buttons: Array, frames: int, view: View, out: Array
) -> None:
    """A batch in one call: `buttons` uint8 [N, 2], `out` uint8 [N, size, size]."""
    for lane in prange(state.shape[0]):
        step_and_view(state[lane], words[lane], rom, code, buttons[lane], frames, view, out[lane])
