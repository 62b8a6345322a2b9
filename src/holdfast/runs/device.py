"""Refusing work that this machine cannot do in a sensible time, unless it is wanted all the same (`run.allow_slow`)."""

from __future__ import annotations

from statistics import median

import torch
from torch import nn

from holdfast.learner.learner import Learner
from holdfast.runs.errors import TooLarge, TooSlow

MOST_MACS = 100_000_000  # multiply-adds of one forward pass of one agent
LEAST_STEPS_PER_S = 50.0
MEASURED = 4  # iterations after the first, which compiles


def count_macs(learner: Learner) -> int:
    """Multiply-adds that the policy and the value of one agent take in one step."""
    total = 0

    def add(module: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        nonlocal total
        if isinstance(module, nn.Conv2d):
            total += module.weight.numel() * output.shape[-2] * output.shape[-1]
        else:
            total += sum(parameter.numel() for parameter in module.parameters() if parameter.dim() > 1)

    policy = learner.policy
    hooks = [
        module.register_forward_hook(add)
        for module in policy.modules()
        if isinstance(module, (nn.Conv2d, nn.Linear, nn.GRUCell))
    ]
    kept = torch.uint8 if learner.role.observations.is_image else torch.float32
    with torch.no_grad():
        sight = torch.zeros(1, *learner.role.observations.shape, dtype=kept)
        policy(sight, torch.zeros(1, policy.core_size), torch.ones(1, dtype=torch.bool))
    for hook in hooks:
        hook.remove()
    return total


def refuse_large(learners: dict[str, Learner], allow_slow: bool) -> None:
    for role, learner in learners.items():
        macs = count_macs(learner)
        if macs > MOST_MACS and not allow_slow:
            raise TooLarge(
                f"the network of {role} takes {macs:,} multiply-adds per step, more than {MOST_MACS:,}, "
                "which is too slow without a GPU: make it smaller, or set --run.allow_slow true"
            )


class Pace:
    """Measures the first iterations of a process, and gives up on a hopeless one."""

    def __init__(self, allow_slow: bool) -> None:
        self.allow_slow = allow_slow
        self.speeds: list[float] = []

    def check(self, agent_steps: int, seconds: float) -> None:
        """Once, after a few iterations; `seconds` are those of collecting and learning."""
        if self.allow_slow or len(self.speeds) > MEASURED:
            return
        self.speeds.append(agent_steps / max(seconds, 1e-9))
        if len(self.speeds) == MEASURED + 1 and median(self.speeds[1:]) < LEAST_STEPS_PER_S:
            raise TooSlow(
                f"this machine does {median(self.speeds[1:]):.1f} agent-steps/s, less than {LEAST_STEPS_PER_S:.0f}: "
                "make the network or the world smaller, or set --run.allow_slow true"
            )
