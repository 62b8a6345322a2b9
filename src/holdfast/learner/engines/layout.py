"""Networks as kernels know them: where their weights lie in the flat arrays of `optim.py`, and where what passes
through them lies in a tile's scratch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from holdfast.kit import aligned

LINE = aligned.LINE // 4  # float32 numbers per cache line
TILE = 64  # rows whose activations fit the nearest caches
CHUNKS = 8  # of a minibatch, each with a gradient of its own
POLICY_LOSS, VALUE_LOSS, ENTROPY, KL, CLIPPED = range(5)
SUMS = 5
TANH, RELU, LINEAR = range(3)  # what is behind a layer


class Tower(NamedTuple):
    """An argument of kernels; without layers it stands for a part that a network does not have."""

    inputs: np.ndarray  # [L] numbers into each layer
    outputs: np.ndarray  # [L] numbers out of it
    weight: np.ndarray  # [L] start of its weights [out, in]
    bias: np.ndarray  # [L] start of its bias
    kinds: np.ndarray  # [L] of activation behind it
    activation: np.ndarray  # [L + 1] start of what goes into layer l in the scratch, and of the last output
    error: np.ndarray  # [L + 1] start of the slopes by those


class RingShape(NamedTuple):
    """A ring of ranges; without rays there is none."""

    rays: int
    start: int  # of the rays in a sight
    out: int  # of its features among those of all parts
    first: int  # weights and biases in the flat arrays
    first_bias: int
    second: int
    second_bias: int
    back: int  # the second filters as the way back reads them, behind all turned weights
    padded: int  # pieces of a tile's scratch
    one: int
    two: int
    by_one: int


class PastShape(NamedTuple):
    """A history read step by step; without directions there is none."""

    steps: int
    numbers: int  # of each vector
    start: int  # in a sight
    weight: np.ndarray  # [directions] by what is seen
    again: np.ndarray  # [directions] by what is remembered
    bias: np.ndarray
    bias_again: np.ndarray
    gates: int  # pieces of a tile's scratch
    cells: int
    bent: int
    kept: int
    ends: int
    by_kept: int
    by_cell: int


class Places(NamedTuple):
    """Where the parts of a sight are: its numbers in a tile's scratch, theirs in it, and theirs among all features."""

    seen: int
    shown: int  # numbers that values are learned from
    acting: int  # numbers, from the first, that choices are made from
    plain_start: int
    plain_out: int
    latent_start: int
    latent_out: int


class Net(NamedTuple):
    """All of a policy. Parallel kernels get its fields one by one: Numba shares no tuples of tuples among threads."""

    places: Places
    plain: Tower  # numbers without an order
    ring: RingShape
    past: PastShape
    latent: Tower  # behind a history, or the history itself as one long vector
    mixture: Tower
    joint: Tower  # none for a policy that does not look at parts
    policy: Tower
    value: Tower


class Asked(NamedTuple):
    """Rows a network is asked about, tile k those from ends[k] to ends[k + 1], and what it says, or slopes by that."""

    obs: np.ndarray  # [B, D]
    horizon: np.float32  # numbers further from 0 are seen as this
    ends: np.ndarray
    said: np.ndarray  # [B, outputs of the head]
    values: np.ndarray  # [B, 1]
    beliefs: np.ndarray  # [B, numbers of a mixture]


class Rows(NamedTuple):
    """A minibatch as kernels read it."""

    obs: np.ndarray
    actions: np.ndarray
    log_prob: np.ndarray
    advantage: np.ndarray
    target: np.ndarray
    old_value: np.ndarray


class Knobs(NamedTuple):
    """Constants of the loss, with the share that turns sums into means."""

    clip: float
    value_clip: float
    entropy: float
    value_coef: float
    share: float
    horizon: np.float32


class Room:
    """A tile's scratch, given away piece by piece; every piece begins at a cache line."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, numbers: int) -> int:
        start, self.size = self.size, self.size + -(-numbers // LINE) * LINE
        return start


def make_tower(
    places: Mapping[str, int], names: Sequence[str], widths: Sequence[int], kinds: Sequence[int], room: Room
) -> Tower:
    """`widths` has what goes in, then what comes out of each of the named layers."""
    return Tower(
        inputs=np.array(widths[:-1], np.int64),
        outputs=np.array(widths[1:], np.int64),
        weight=np.array([places[f"{name}.weight"] for name in names], np.int64),
        bias=np.array([places[f"{name}.bias"] for name in names], np.int64),
        kinds=np.array(kinds, np.int64),
        activation=np.array([room.take(TILE * width) for width in widths], np.int64),
        error=np.array([room.take(TILE * width) for width in widths], np.int64),
    )
