"""Counter-based randomness: a number is a function of (key, stream, index), never of call order or thread.

Philox-4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"), usable inside kernels and in
plain Python. Keys are uint64; there is no state to save beyond the keys and counters a world keeps in its arrays.
"""

from __future__ import annotations

import math

import numpy as np

from holdfast.kit.compiled import inlined

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_TO_UNIT_32 = 2.0**-32
_TO_UNIT_53 = 2.0**-53


@inlined
def philox(key, counter_low, counter_high):  # type: ignore[no-untyped-def]
    """Four independent 32-bit words (as uint64) for a 64-bit key and a 128-bit counter."""
    k0 = key & _LOW
    k1 = key >> _HALF
    c0 = counter_low & _LOW
    c1 = counter_low >> _HALF
    c2 = counter_high & _LOW
    c3 = counter_high >> _HALF
    for _ in range(10):
        product_0 = _MULTIPLIER_0 * c0
        product_1 = _MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (
            (product_1 >> _HALF) ^ c1 ^ k0,
            product_1 & _LOW,
            (product_0 >> _HALF) ^ c3 ^ k1,
            product_0 & _LOW,
        )
        k0 = (k0 + _WEYL_0) & _LOW
        k1 = (k1 + _WEYL_1) & _LOW
    return c0, c1, c2, c3


@inlined
def derive(key, number):  # type: ignore[no-untyped-def]
    """A new key from a key and a number: lane keys from a seed, episode keys from a lane key."""
    w0, w1, _, _ = philox(np.uint64(key), np.uint64(number), np.uint64(0x6B6579))
    return (w1 << _HALF) | w0


@inlined
def uniform(key, stream, index):  # type: ignore[no-untyped-def]
    """A float64 in [0, 1) with 53 random bits."""
    w0, w1, _, _ = philox(key, np.uint64(index), np.uint64(stream))
    high = w0 >> np.uint64(5)
    low = w1 >> np.uint64(6)
    return ((high << np.uint64(26)) | low) * _TO_UNIT_53


@inlined
def uniform4(key, stream, index):  # type: ignore[no-untyped-def]
    """Four float64 in [0, 1) with 32 random bits each, for the price of one."""
    w0, w1, w2, w3 = philox(key, np.uint64(index), np.uint64(stream))
    return w0 * _TO_UNIT_32, w1 * _TO_UNIT_32, w2 * _TO_UNIT_32, w3 * _TO_UNIT_32


@inlined
def integer(key, stream, index, bound):  # type: ignore[no-untyped-def]
    """An int64 in [0, bound); the bias is below 2**-32 for bounds up to 2**21."""
    return np.int64(uniform(key, stream, index) * bound)


@inlined
def short_turn(angle):  # type: ignore[no-untyped-def]
    """(cosine, sine) of an angle within an eighth of a turn, to 1e-12: a quarter of what the library takes for any."""
    q = angle * angle
    cosine = q / 40320.0 + q * q * (q / 479001600.0 - 1.0 / 3628800.0)
    cosine = 1.0 + q * (-0.5 + q * (1.0 / 24.0 + q * (-1.0 / 720.0 + cosine)))
    sine = q / 362880.0 + q * q * (q / 6227020800.0 - 1.0 / 39916800.0)
    sine = angle + angle * q * (-1.0 / 6.0 + q * (1.0 / 120.0 + q * (-1.0 / 5040.0 + sine)))
    return cosine, sine


@inlined
def on_circle(share):  # type: ignore[no-untyped-def]
    """(cosine, sine) of a share of a whole turn, 0 to 1."""
    eighths = np.int64(share * 8.0)
    quarter = (eighths + 1) // 2  # the nearest one: 0 to 4
    cosine, sine = short_turn((share - 0.25 * quarter) * (2.0 * math.pi))
    if quarter % 2 == 1:
        cosine, sine = -sine, cosine
    if quarter == 2 or quarter == 3:
        cosine, sine = -cosine, -sine
    return cosine, sine


@inlined
def normal(key, stream, index):  # type: ignore[no-untyped-def]
    """A standard normal float64 (Box and Muller 1958)."""
    u0, u1, _, _ = uniform4(key, stream, index)
    return math.sqrt(-2.0 * math.log(1.0 - u0)) * math.cos(2.0 * math.pi * u1)


@inlined
def normal4(key, stream, index):  # type: ignore[no-untyped-def]
    """Four standard normal float64, none further from 0 than 6.7, for the price of one set of words."""
    u0, u1, u2, u3 = uniform4(key, stream, index)
    first = math.sqrt(-2.0 * math.log(1.0 - u0))
    second = math.sqrt(-2.0 * math.log(1.0 - u2))
    x_1, y_1 = on_circle(u1)
    x_2, y_2 = on_circle(u3)
    return first * x_1, first * y_1, second * x_2, second * y_2


def lane_keys(seed: int, lanes: int) -> np.ndarray:
    """One key per lane, all different, from one seed."""
    return np.array([derive(np.uint64(seed), np.uint64(lane)) for lane in range(lanes)], dtype=np.uint64)


def numpy_generator(seed: int, purpose: str) -> np.random.Generator:
    """A NumPy generator for work outside kernels (bootstrap resampling), tied to the seed and a named purpose."""
    return np.random.Generator(np.random.Philox(key=[seed & 0xFFFFFFFFFFFFFFFF, int.from_bytes(purpose.encode()[:8])]))
