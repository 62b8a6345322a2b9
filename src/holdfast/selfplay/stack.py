"""Many frozen policies of one shape, asked in one batched forward pass.

Rows are sorted by the policy that plays them and cut into blocks. Small plain policies, those that learn by the fused
kernels, go through a kernel of their own, block by block; others of the plain kind through a handful of batched matrix
products, which serve all policies at once, however unevenly they share the rows. Policies with a memory, or with a
picture or parts to look at, are asked one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch

from holdfast.kit.aligned import aligned
from holdfast.kit.compiled import announced, use_threads
from holdfast.learner.batch import array
from holdfast.learner.engines.fused_kernels import transpose_weights
from holdfast.learner.engines.layout import TILE
from holdfast.learner.learner import Learner
from holdfast.learner.normalize import EPSILON
from holdfast.selfplay import stack_kernels
from holdfast.selfplay.vault import put_into

BLOCK = 32
Tensor = torch.Tensor


class Answer(NamedTuple):
    """What the policies say about rows [B]."""

    actions: Tensor  # [B, outputs of the head]
    extra: Tensor  # [B, parameters of the head]
    hidden: Tensor  # [B, H]


class Shelf(NamedTuple):
    """Policies of the fused kind, by place; also an argument of kernels."""

    parameters: np.ndarray  # [S, P]
    turned: np.ndarray  # [S, P] the same, weights [in, out]
    mean: np.ndarray  # [S, D] of observations
    inverse: np.ndarray  # [S, D]


class Stack:
    """Up to `size` policies of one shape, each in a numbered place; `make` makes a learner of that shape."""

    def __init__(self, make: Callable[[], Learner], size: int) -> None:
        self.make = make
        self.template = template = make()
        self.policy = template.policy
        simple = self.policy.core is None and self.policy.parts is None
        self.is_plain = simple and not template.role.observations.is_image
        self.forwards = 0  # batched passes so far
        self.extra = torch.zeros(size, self.policy.head.extra)
        if not self.is_plain:
            self.learners: dict[int, Learner] = {}
            return
        self.shelf: Shelf | None = None
        self.tower = template.engine.tower
        if self.tower is not None:
            self._make_shelf(size)
            return
        self.places = {name: (start, end) for name, start, end in template.optimizer.names}
        names = [f"body.layers.{index}" for index in range(len(self.policy.body.layers))]
        self.names = [*names, "action_layer"]
        self.weights = [torch.zeros(size, *self._shape(name)) for name in self.names]  # [S, in, out]
        self.biases = [torch.zeros(size, 1, self._shape(name)[1]) for name in self.names]
        self.mean = torch.zeros(size, 1, template.role.observations.acting)
        self.inverse = torch.ones_like(self.mean)

    def _make_shelf(self, size: int) -> None:
        numbers, sight = len(self.template.optimizer.parameters), self.template.role.observations.size
        self.shelf = Shelf(
            np.zeros((size, numbers), np.float32),
            np.zeros((size, numbers), np.float32),
            np.zeros((size, sight), np.float32),
            np.ones((size, sight), np.float32),
        )
        with announced("self-play", stack_kernels.__file__):
            self.deal(np.zeros(1, np.int64)).ask(torch.zeros(1, sight), torch.zeros(1, 0), torch.zeros(1))
        self.forwards = 0

    def _shape(self, name: str) -> tuple[int, int]:
        start, end = self.places[f"{name}.weight"]
        outputs = self.places[f"{name}.bias"][1] - self.places[f"{name}.bias"][0]
        return (end - start) // outputs, outputs

    def put(self, place: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Let a frozen learner (as `vault.arrays_of` gives it) play from this place."""
        flat = torch.from_numpy(np.array(arrays["optimizer/parameters"]))
        start, end = next((s, e) for name, s, e in self.template.optimizer.names if name == "extra")
        self.extra[place] = flat[start:end]
        if not self.is_plain:
            put_into(self.learners.setdefault(place, self.make()), arrays)
            return
        if self.shelf is not None:
            self._put_on_shelf(self.shelf, place, flat.numpy(), arrays)
            return
        for name, weight, bias in zip(self.names, self.weights, self.biases, strict=True):
            inputs, outputs = self._shape(name)
            weight[place] = flat[slice(*self.places[f"{name}.weight"])].view(outputs, inputs).T
            bias[place, 0] = flat[slice(*self.places[f"{name}.bias"])]
        if "observations/mean" in arrays:
            numbers = self.mean.shape[2]
            self.mean[place, 0] = torch.from_numpy(np.array(arrays["observations/mean"][:numbers])).float()
            variance = torch.from_numpy(np.array(arrays["observations/variance"][:numbers]))
            self.inverse[place, 0] = 1.0 / (variance + EPSILON).sqrt().float()

    def _put_on_shelf(self, shelf: Shelf, place: int, flat: np.ndarray, arrays: Mapping[str, np.ndarray]) -> None:
        assert self.tower is not None
        shelf.parameters[place] = flat
        transpose_weights(flat, self.tower.tower, shelf.turned[place])
        if "observations/mean" in arrays:
            shelf.mean[place] = arrays["observations/mean"]
            shelf.inverse[place] = 1.0 / np.sqrt(arrays["observations/variance"] + EPSILON)

    def deal(self, places: np.ndarray) -> Deal:
        """Rows [B] shared out among places; to be used until the sharing changes."""
        return Deal(self, places)


class Deal:
    """Which row is played from which place, with everything that depends only on that."""

    def __init__(self, stack: Stack, places: np.ndarray) -> None:
        self.stack, self.places = stack, places
        self.extra = stack.extra[torch.from_numpy(places.astype(np.int64))]
        if stack.is_plain and stack.shelf is not None:
            self._cut_for_kernel()
        elif stack.is_plain:
            self._cut_into_blocks()

    def _cut_into_blocks(self) -> None:
        order = np.argsort(self.places, kind="stable")
        used, counts = np.unique(self.places, return_counts=True)
        blocks = -(-counts // BLOCK)
        gather = np.zeros(int(blocks.sum()) * BLOCK, np.int64)  # padded with row 0, whose answers are not read
        where = np.zeros(len(order), np.int64)  # of each row in the blocks
        start = row = 0
        for count, block in zip(counts, blocks, strict=True):
            mine = order[row : row + count]
            gather[start : start + count] = mine
            where[mine] = np.arange(start, start + count)
            start, row = start + block * BLOCK, row + count
        number = torch.from_numpy(np.repeat(used.astype(np.int64), blocks))
        stack = self.stack
        self.gather, self.where = torch.from_numpy(gather), torch.from_numpy(where)
        self.weights = [weight[number] for weight in stack.weights]
        self.biases = [bias[number] for bias in stack.biases]
        self.mean, self.inverse = stack.mean[number], stack.inverse[number]

    def _cut_for_kernel(self) -> None:
        used, counts = np.unique(self.places, return_counts=True)
        sizes = [min(TILE, count - start) for count in counts.tolist() for start in range(0, count, TILE)]
        assert self.stack.tower is not None
        self.order = np.argsort(self.places, kind="stable")
        self.ends = np.cumsum([0, *sizes], dtype=np.int64)
        self.block_places = np.repeat(used.astype(np.int64), -(-counts // TILE))
        self.scratch = aligned((len(sizes), self.stack.tower.room), np.float32)

    def ask(self, raw: Tensor, hidden: Tensor, starts: Tensor) -> Answer:
        """Observations [B, ...] as the world gives them."""
        self.stack.forwards += 1
        if not self.stack.is_plain:
            return self._one_by_one(raw, hidden, starts)
        if self.stack.shelf is not None:
            return Answer(self._by_kernel(self.stack.shelf, raw.flatten(1)), self.extra, hidden)
        policy = self.stack.policy
        x = raw.flatten(1)[:, : policy.body.inputs].index_select(0, self.gather).view(len(self.mean), BLOCK, -1)
        if self.stack.template.observations is not None:
            x = (x - self.mean) * self.inverse
        if policy.horizon is not None:
            x = x.clamp(-policy.horizon, policy.horizon)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = policy.body.act(torch.baddbmm(bias, x, weight))
        x = torch.baddbmm(self.biases[-1], x, self.weights[-1])
        return Answer(x.flatten(0, 1).index_select(0, self.where), self.extra, hidden)

    def _by_kernel(self, shelf: Shelf, raw: Tensor) -> Tensor:
        assert self.stack.tower is not None
        tower, horizon, threads, _ = self.stack.tower
        logits = torch.empty(len(raw), self.stack.policy.head.outputs)
        use_threads(threads)
        cut = (self.order, self.ends, self.block_places)
        stack_kernels.answer(shelf, tower, array(raw), *cut, horizon, self.scratch, array(logits))
        return logits

    def _one_by_one(self, raw: Tensor, hidden: Tensor, starts: Tensor) -> Answer:
        """Each policy about its own rows."""
        said = torch.zeros(len(raw), self.stack.policy.head.outputs)
        remembered = hidden.clone()
        for place in np.unique(self.places):
            learner, rows = self.stack.learners[int(place)], torch.from_numpy(np.flatnonzero(self.places == place))
            output = learner.ask(learner.normalized(raw[rows]), hidden[rows], starts[rows])
            said[rows] = output.actions
            remembered[rows] = output.hidden
        return Answer(said, self.extra, remembered)
