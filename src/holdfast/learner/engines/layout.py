"""Arguments of kernels: where the weights of a network lie in the flat arrays of `optim.py`, where the activations of a
tile of rows lie in its scratch, and minibatches and losses as kernels read them. It imports next to nothing, because
the cache of a kernel depends on all that its file imports."""

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
TANH, RELU, LINEAR = range(3)  # activation after a layer
BOUNDLESS = np.float32(3.0e38)  # the horizon of a policy without one


class Tower(NamedTuple):
    """Layers one after the other; none for a part that a network does not have."""

    inputs: np.ndarray  # [L] numbers into each layer
    outputs: np.ndarray  # [L] numbers out of it
    weight: np.ndarray  # [L] start of its weights [out, in]
    bias: np.ndarray  # [L] start of its bias
    kinds: np.ndarray  # [L] of activation behind it
    activation: np.ndarray  # [L + 1] start of the inputs of layer l in the scratch, and of the last output
    error: np.ndarray  # [L + 1] start of the gradients with respect to those


class ActingTower(NamedTuple):
    """The acting network of a small policy, and what else kernels need that ask many policies of its shape at once."""

    tower: Tower
    horizon: np.float32  # observations further from 0 are clipped to this
    threads: int
    room: int  # numbers of a tile's scratch


class RingShape(NamedTuple):
    """A ring of ranges; without rays there is none."""

    rays: int
    start: int  # of the rays in an observation
    out: int  # of its features among those of all parts
    first: int  # weights and biases in the flat arrays
    first_bias: int
    second: int
    second_bias: int
    back: int  # the second filters as the backward pass reads them, after all transposed weights
    padded: int  # pieces of a tile's scratch
    one: int
    two: int
    by_one: int


class HistoryShape(NamedTuple):
    """A history read step by step; without directions there is none."""

    steps: int
    numbers: int  # of each vector
    start: int  # in an observation
    weight_ih: np.ndarray  # [directions] as torch names them
    weight_hh: np.ndarray
    bias_ih: np.ndarray
    bias_hh: np.ndarray
    gates: int  # pieces of a tile's scratch
    cells: int
    squashed: int  # tanh of the cells
    hidden: int
    ends: int
    by_hidden: int  # gradients
    by_cell: int


class Places(NamedTuple):
    """Where an observation lies in a tile's scratch, its parts in the observation, and their features among all."""

    obs: int
    judged: int  # numbers, from the first, that values are learned from
    acting: int  # numbers, from the first, that actions are chosen from
    plain_start: int
    plain_out: int
    latent_start: int
    latent_out: int


class Net(NamedTuple):
    """All of a policy. Parallel kernels get its fields one by one: Numba shares no tuples of tuples among threads."""

    places: Places
    plain: Tower  # numbers without an order
    ring: RingShape
    history: HistoryShape
    latent: Tower  # after a history, or of the history as one long vector
    mixture: Tower
    joint: Tower  # none for a policy without an encoder of parts
    policy: Tower
    value: Tower


class Asked(NamedTuple):
    """Rows of observations, tile k those from ends[k] to ends[k + 1], and a network's outputs for them, or the
    gradients with respect to those."""

    obs: np.ndarray  # [B, D]
    horizon: np.float32  # observations further from 0 are clipped to this
    ends: np.ndarray
    actions: np.ndarray  # [B, outputs of the head]
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
    """Coefficients of the loss (`losses.Objective`); `share` turns sums into means."""

    clip: float
    value_clip: float
    entropy: float
    value_coef: float
    share: float
    horizon: np.float32


class Room:
    """A tile's scratch, allotted piece by piece; every piece begins at a cache line."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, numbers: int) -> int:
        start, self.size = self.size, self.size + -(-numbers // LINE) * LINE
        return start


def make_tower(
    places: Mapping[str, int], names: Sequence[str], widths: Sequence[int], kinds: Sequence[int], room: Room
) -> Tower:
    """`widths`: the inputs, then the outputs of each of the named layers."""
    return Tower(
        inputs=np.array(widths[:-1], np.int64),
        outputs=np.array(widths[1:], np.int64),
        weight=np.array([places[f"{name}.weight"] for name in names], np.int64),
        bias=np.array([places[f"{name}.bias"] for name in names], np.int64),
        kinds=np.array(kinds, np.int64),
        activation=np.array([room.take(TILE * width) for width in widths], np.int64),
        error=np.array([room.take(TILE * width) for width in widths], np.int64),
    )
