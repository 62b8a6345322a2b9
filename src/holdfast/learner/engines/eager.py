"""Eager torch."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch

from holdfast.config.sections import LearnerConfig


def computing(config: LearnerConfig) -> AbstractContextManager[object]:
    """Around a network's pass. Probabilities, targets and losses are computed outside, in float32."""
    return torch.autocast("cpu", torch.bfloat16, enabled=config.amp == "bf16")
