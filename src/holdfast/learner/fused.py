"""The fused learner: forward passes and gradients of a small policy by kernels instead of eager torch.

Same parameters, same optimiser, same losses as the torch path, and tested against it. Eager operations on networks of
64 units are far from the machine's limit: training the fish ran 1.5 times as fast this way on two quiet cores, and more
on busy ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from holdfast.config.sections import LearnerConfig
from holdfast.kit.aligned import aligned
from holdfast.kit.compiled import announced, use_threads
from holdfast.learner import fused_kernels as kernels
from holdfast.learner.batch import array
from holdfast.learner.losses import Loss, Minibatch
from holdfast.learner.optim import FlatAdam
from holdfast.learner.policy import Body, Policy
from holdfast.learner.shapes import Room, Tower, make_tower

BOUNDLESS = np.float32(3.0e38)
UNLIMITED = 1.0e9


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


def kind_of(body: Body) -> int:
    """The activation behind its layers, as kernels call it."""
    return kernels.TANH if body.act is torch.tanh else kernels.RELU


def knobs_of(config: LearnerConfig, entropy_coef: float, rows: int, horizon: np.float32) -> Knobs:
    clips = config.algorithm == "ppo"
    return Knobs(
        config.clip if clips else UNLIMITED,
        config.value_clip if clips else 0.0,
        entropy_coef,
        config.value_coef,
        1.0 / rows,
        horizon,
    )


def rows_of(part: Minibatch) -> Rows:
    return Rows(
        array(part.obs.flatten(1)),
        array(part.actions),
        array(part.log_prob),
        array(part.advantage),
        array(part.target),
        array(part.old_value),
    )


def loss_of(sums: np.ndarray, config: LearnerConfig, entropy_coef: float) -> Loss:
    """From a minibatch's sums, in the order of the kernels' names for them."""
    policy, value, entropy, kl, clipped = (torch.tensor(number, dtype=torch.float32) for number in sums)
    total = policy + config.value_coef * value - entropy_coef * entropy
    return Loss(total, policy, value, entropy, kl, clipped)


class Fused:
    """Kernels bound to one policy's flat parameters."""

    def __init__(self, policy: Policy, optimizer: FlatAdam, config: LearnerConfig, threads: int) -> None:
        assert policy.value_body is not None
        self.optimizer, self.config, self.threads = optimizer, config, threads
        self.places = {name: start for name, start, _ in optimizer.names}
        self.outputs = policy.head.outputs
        self.horizon = BOUNDLESS if policy.horizon is None else np.float32(policy.horizon)
        rooms = Room(), Room()  # one after the other, in the same scratch
        self.policy = self._tower("body", policy.body, "action_layer", self.outputs, rooms[0])
        self.value = self._tower("value_body", policy.value_body, "value_layer", 1, rooms[1])
        self.turned = aligned((len(optimizer.parameters),), np.float32)
        self.pieces = aligned((kernels.CHUNKS, len(optimizer.parameters)), np.float32)
        self.scratch = aligned((kernels.CHUNKS, max(room.size for room in rooms)), np.float32)
        self.sums = np.zeros((kernels.CHUNKS, kernels.SUMS))
        with announced("learner", kernels.__file__):
            self._warm_up()

    def _warm_up(self) -> None:
        """Compile before the run begins; one row of zeros leaves no trace but a gradient, which is cleared."""
        none, zero = torch.zeros(1), torch.zeros(1, int(self.value.inputs[0]))
        self.forward(zero)
        self.descend(Minibatch(zero, torch.zeros(1, dtype=torch.int64), none, none, none, none), 0.0)
        self.optimizer.zero()

    def _tower(self, body_name: str, body: Body, last_name: str, outputs: int, room: Room) -> Tower:
        names = [*(f"{body_name}.layers.{index}" for index in range(len(body.layers))), last_name]
        kinds = [kind_of(body)] * len(body.layers) + [kernels.LINEAR]
        return make_tower(self.places, names, [body.inputs, *body.widths, outputs], kinds, room)

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits [B, n] and values [B]."""
        rows = len(obs)
        logits, values = torch.empty(rows, self.outputs), torch.empty(rows)
        tiles = -(-rows // kernels.TILE)
        if len(self.scratch) < tiles:
            self.scratch = aligned((tiles, self.scratch.shape[1]), np.float32)
        use_threads(self.threads)
        kernels.forward(
            array(self.optimizer.parameters),
            self.policy,
            self.value,
            array(obs.flatten(1)),
            self.horizon,
            self.turned,
            self.scratch[:tiles],
            array(logits),
            array(values),
        )
        return logits, values

    def descend(self, part: Minibatch, entropy_coef: float) -> Loss:
        """Write the loss's gradient on this minibatch to the optimiser, and return the loss.

        V-trace calls it with the probabilities of the moment: the surrogate's slope is then the plain policy gradient.
        """
        knobs, rows = knobs_of(self.config, entropy_coef, len(part.obs), self.horizon), rows_of(part)
        use_threads(self.threads)
        parameters = array(self.optimizer.parameters)
        kernels.gradient(
            parameters, self.policy, self.value, rows, knobs, self.turned, self.scratch, self.pieces, self.sums
        )
        kernels.add_pieces(self.pieces, array(self.optimizer.gradients))
        return loss_of(self.sums.sum(0), self.config, entropy_coef)
