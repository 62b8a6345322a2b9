"""Half precision: where it pays on a CPU, and the context it is computed in.

Without matrix units for bf16 torch emulates it, and every network measured became slower (`benchmarks/precision.py`).
With them (AMX) only large convolutions have enough work per number to gain.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from holdfast.config.sections import LearnerConfig, PolicyConfig

LARGE = ("impala", "impala-large")


def chosen_precision(
    policy: PolicyConfig, engine: str, cpuinfo: Path = Path("/proc/cpuinfo")
) -> Literal["off", "bf16"]:
    """What `learner.amp = auto` means on this machine; a function of hardware and configuration, never of a clock.
    Engines of our own compute in float32 only."""
    if policy.network not in LARGE or engine in ("fused", "wide"):
        return "off"
    flags = cpuinfo.read_text(encoding="utf-8").split() if cpuinfo.exists() else []
    return "bf16" if "amx_bf16" in flags else "off"


def computing(config: LearnerConfig) -> AbstractContextManager[object]:
    """Around a network's pass. Probabilities, targets and losses are computed outside, in float32."""
    import torch

    return torch.autocast("cpu", torch.bfloat16, enabled=config.amp == "bf16")
