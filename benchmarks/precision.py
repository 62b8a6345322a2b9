"""Does half precision pay on this CPU? Forward and backward passes of each network, float32 and bf16 taking turns.

python benchmarks/precision.py
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import torch

from holdfast.bench.rounds import ratio
from holdfast.config.sections import PolicyConfig
from holdfast.learner.policy import Policy
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Discrete, Observations

ROUNDS = 3
PICTURE = Observations((84, 84, 4), np.dtype(np.uint8), 0, 255)
VECTOR = Observations((328,), np.dtype(np.float32), -1, 1)
CASES = {
    "mlp 256,256, 2048 rows": (VECTOR, PolicyConfig(hidden=(256, 256)), 2048),
    "pixels-small, 128 rows": (PICTURE, PolicyConfig(network="pixels-small", hidden=(256,), separate=False), 128),
    "impala, 16 rows": (PICTURE, PolicyConfig(network="impala", hidden=(256,), separate=False), 16),
}


def passes_per_s(policy: Policy, obs: torch.Tensor, half: bool) -> float:
    begun = time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        output = policy(obs, obs[:0], obs[:0])
    (output.value.sum() + output.actions.sum()).backward()
    return 1.0 / (time.perf_counter() - begun)


def main() -> None:
    found = {}
    for name, (sight, config, rows) in CASES.items():
        policy = Policy(Role("player", 1, sight, Discrete(7)), config, torch.Generator().manual_seed(0))
        obs = torch.zeros(rows, *sight.shape, dtype=torch.uint8 if sight.is_image else torch.float32)
        rates: dict[bool, list[float]] = {False: [], True: []}
        for turn in range(ROUNDS + 1):
            for half in rates:
                rate = passes_per_s(policy, obs, half)
                rates[half] += [rate] if turn else []
        found[name] = round(ratio(rates[True], rates[False]), 3)
        print(f"{name}: bf16 runs at {found[name]} times the speed of float32", flush=True)
    path = Path(__file__).parent / "results" / "precision.json"
    path.write_text(json.dumps({"threads": torch.get_num_threads(), "bf16_over_float32": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
