"""The fused engine: forward passes and gradients of a small policy by kernels instead of eager torch.

Same parameters, same optimiser, same losses as the torch engine, and tested against it. Eager operations on networks of
64 units are far from the machine's limit: training the fish ran 1.5 times as fast this way on two quiet cores, and more
on busy ones.
"""

from __future__ import annotations

import numpy as np
import torch

from holdfast.kit.aligned import aligned
from holdfast.kit.compiled import announced, use_threads
from holdfast.learner.batch import array
from holdfast.learner.engines import fused_kernels as kernels
from holdfast.learner.engines.layout import (
    BOUNDLESS,
    CHUNKS,
    LINEAR,
    RELU,
    SUMS,
    TANH,
    TILE,
    ActingTower,
    Knobs,
    Room,
    Rows,
    Tower,
    make_tower,
)
from holdfast.learner.losses import BeliefError, Loss, Minibatch, Objective
from holdfast.learner.optim import FlatAdam
from holdfast.learner.policy import Body, Output, Policy

WARM_UP = Objective(clip=0.2, value_clip=0.0, value_coef=0.5, entropy=0.0)


def kind_of(body: Body) -> int:
    """The activation behind its layers, as kernels call it."""
    return TANH if body.act is torch.tanh else RELU


def knobs_of(objective: Objective, rows: int, horizon: np.float32) -> Knobs:
    clip, value_clip, value_coef, entropy, _ = objective
    return Knobs(clip, value_clip, entropy, value_coef, 1.0 / rows, horizon)


def rows_of(part: Minibatch) -> Rows:
    return Rows(*map(array, (part.obs.flatten(1), *part[1:])))


def loss_of(sums: np.ndarray, objective: Objective) -> Loss:
    """From a minibatch's sums, in the order of the kernels' names for them."""
    policy, value, entropy, kl, clipped = torch.from_numpy(sums).float()
    total = policy + objective.value_coef * value - objective.entropy * entropy
    return Loss(total, policy, value, entropy, kl, clipped)


class Fused:
    """Kernels bound to one policy's flat parameters."""

    follows = False
    belief_error: BeliefError | None = None

    def __init__(self, policy: Policy, optimizer: FlatAdam, threads: int) -> None:
        assert policy.value_body is not None
        self.optimizer, self.threads = optimizer, threads
        self.places = {name: start for name, start, _ in optimizer.names}
        self.outputs = policy.head.outputs
        self.horizon = BOUNDLESS if policy.horizon is None else np.float32(policy.horizon)
        rooms = Room(), Room()  # one after the other, in the same scratch
        self.policy = self._tower("body", policy.body, "action_layer", self.outputs, rooms[0])
        self.value = self._tower("value_body", policy.value_body, "value_layer", 1, rooms[1])
        room = max(room.size for room in rooms)
        self.tower: ActingTower | None = ActingTower(self.policy, self.horizon, threads, room)
        self.transposed = aligned((len(optimizer.parameters),), np.float32)
        self.pieces = aligned((CHUNKS, len(optimizer.parameters)), np.float32)
        self.scratch = aligned((CHUNKS, room), np.float32)
        self.sums = np.zeros((CHUNKS, SUMS))
        with announced("learner", kernels.__file__):
            self._warm_up()

    def _warm_up(self) -> None:
        """Compile before the run begins; one row of zeros leaves no trace but a gradient, which is cleared."""
        none, zero = torch.zeros(1), torch.zeros(1, int(self.value.inputs[0]))
        self.ask(zero, none, none)
        self.descend(Minibatch(zero, torch.zeros(1, dtype=torch.int64), none, none, none, none), WARM_UP)
        self.optimizer.zero()

    def _tower(self, body_name: str, body: Body, last_name: str, outputs: int, room: Room) -> Tower:
        names = [*(f"{body_name}.layers.{index}" for index in range(len(body.layers))), last_name]
        kinds = [kind_of(body)] * len(body.layers) + [LINEAR]
        return make_tower(self.places, names, [body.inputs, *body.widths, outputs], kinds, room)

    def ask(self, obs: torch.Tensor, hidden: torch.Tensor, starts: torch.Tensor) -> Output:
        rows = len(obs)
        logits, values = torch.empty(rows, self.outputs), torch.empty(rows)
        tiles = -(-rows // TILE)
        if len(self.scratch) < tiles:
            self.scratch = aligned((tiles, self.scratch.shape[1]), np.float32)
        use_threads(self.threads)
        kernels.forward(
            array(self.optimizer.parameters),
            self.policy,
            self.value,
            array(obs.flatten(1)),
            self.horizon,
            self.transposed,
            self.scratch[:tiles],
            array(logits),
            array(values),
        )
        return Output(logits, values, hidden)

    def descend(self, part: Minibatch, objective: Objective) -> Loss:
        knobs, rows = knobs_of(objective, len(part.obs), self.horizon), rows_of(part)
        use_threads(self.threads)
        parameters = array(self.optimizer.parameters)
        kernels.gradient(
            parameters, self.policy, self.value, rows, knobs, self.transposed, self.scratch, self.pieces, self.sums
        )
        kernels.add_pieces(self.pieces, array(self.optimizer.gradients))
        return loss_of(self.sums.sum(0), objective)
