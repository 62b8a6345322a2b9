"""How a learner computes: `Engine`, and which one a policy gets.

`eager.py` is torch and takes every policy and every loss. Two engines of our own take plain policies: `fused.py` keeps
small networks in the nearest caches; `wide.py` takes any width, and observations encoded by their parts. Both read and
write the flat arrays of `optim.py`; where things lie in them is in `layout.py` and `wide_layout.py`, what is computed
is in the `*_kernels.py` and `products.py`. Choosing an engine imports none of them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.learner.algorithms import ALGORITHMS
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import HISTORY, LIDAR, Continuous, Discrete, Grid

if TYPE_CHECKING:
    import torch

    from holdfast.learner.engines.layout import ActingTower
    from holdfast.learner.losses import BeliefError, Loss, Minibatch, Objective
    from holdfast.learner.policy import Output


class Engine(Protocol):
    """Forward passes and gradients of one policy. Ask an engine what it can do, never for its class."""

    follows: bool  # autograd follows its passes, so that any loss of their outputs can be descended on
    tower: ActingTower | None  # the acting network, for kernels that ask many policies of one shape at once
    belief_error: BeliefError | None  # of the last minibatch; None for a policy without a belief

    def ask(self, obs: torch.Tensor, hidden: torch.Tensor, starts: torch.Tensor) -> Output:
        """The network's outputs for rows [B], without gradients."""

    def descend(self, part: Minibatch, objective: Objective) -> Loss:
        """Write the gradient of `losses.surrogate_loss` on a minibatch of single steps to the optimiser."""


class Kernels(NamedTuple):
    """What an engine of our own takes, and up to which size it is the faster one."""

    actions: tuple[type, ...]
    parts: bool  # policy.network = parts
    widest: float = math.inf  # layer
    most_inputs: float = math.inf


ENGINES = {  # in the order in which `auto` takes them; beyond the sizes, weights and a tile leave the nearest caches
    "fused": Kernels((Discrete, Grid), parts=False, widest=128, most_inputs=512),
    "wide": Kernels((Discrete, Grid, Continuous), parts=True),
}


def obstacles(engine: str, role: Role, policy: PolicyConfig, learner: LearnerConfig) -> list[str]:
    """Why an engine of our own cannot run this, in words; empty when it can."""
    kernels = ENGINES[engine]
    found = {
        f"{role.name} sees images": role.observations.is_image,
        f"{role.name} has {type(role.actions).__name__.lower()} actions": not isinstance(role.actions, kernels.actions),
        f"policy.network = {policy.network}": policy.network == "parts" and not kernels.parts,
        f"several unordered parts of {role.name}'s observations": policy.network == "parts" and _plain_parts(role) > 1,
        f"policy.core = {policy.core}": policy.core != "none",
        "policy.separate = false": not policy.separate,
        f"policy.norm = {policy.norm}": policy.norm != "none",
        f"learner.algorithm = {learner.algorithm}": engine not in ALGORITHMS[learner.algorithm].engines,
        "learner.amp = bf16": learner.amp == "bf16",
        "learner.compile = true": learner.compile,
    }
    return [reason for reason, holds in found.items() if holds]


def _plain_parts(role: Role) -> int:
    """Named parts that actions are chosen from, other than the lidar and the history."""
    observations, start, count = role.observations, 0, 0
    for name, shape in observations.parts:
        count += start < observations.acting and name not in (LIDAR, HISTORY)
        start += math.prod(shape)
    return count


def chosen_engine(role: Role, policy: PolicyConfig, learner: LearnerConfig) -> str:
    """`auto` takes the first kernels that are able and faster, else torch."""
    if learner.engine != "auto":
        return learner.engine
    for name, kernels in ENGINES.items():
        widest = math.inf if policy.network == "parts" else max([*policy.hidden, 1])
        small = widest <= kernels.widest and role.observations.size <= kernels.most_inputs
        if small and not obstacles(name, role, policy, learner):
            return name
    return "torch"


LARGE = ("impala", "impala-large")


def chosen_precision(
    policy: PolicyConfig, engine: str, cpuinfo: Path = Path("/proc/cpuinfo")
) -> Literal["off", "bf16"]:
    """What `learner.amp = auto` means on this machine; a function of hardware and configuration, never of a clock.

    Our own engines compute in float32 only. Without matrix units for bf16 torch emulates it, and every network measured
    became slower (`benchmarks/precision.py`); with them (AMX) only large convolutions have enough work per number.
    """
    if policy.network not in LARGE or engine in ENGINES:
        return "off"
    flags = cpuinfo.read_text(encoding="utf-8").split() if cpuinfo.exists() else []
    return "bf16" if "amx_bf16" in flags else "off"
