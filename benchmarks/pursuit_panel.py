"""Every scripted pursuer against every scripted evader in five settings: captures, beside an independent build.

    python benchmarks/pursuit_panel.py [DUELS]

The figures to meet are the tests' (`tests/worlds/pursuit/test_scripted.py`), within 0.03, or 0.01 where they are at
least 0.99 or at most 0.02. Writes benchmarks/results/pursuit_panel.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.worlds.pursuit.test_scripted import EVADERS, PANEL

from holdfast.rollout.evaluate import play_once
from holdfast.worlds.pursuit.settings import PursuitSettings
from holdfast.worlds.pursuit.world import Pursuit, play_scripts

RESULT = Path(__file__).parent / "results" / "pursuit_panel.json"


def main(duels: int) -> None:
    table, misses = {}, []
    for name, (settings, greedy, intercept) in PANEL.items():
        world = Pursuit(PursuitSettings(**settings), duels, seed=0, threads=2)
        for pursuer, figures in (("greedy", greedy), ("intercept", intercept)):
            for evader, figure in zip(EVADERS, figures, strict=True):
                act = play_scripts({"pursuer": pursuer, "evader": evader})
                played = play_once(world, act, np.arange(1, duels + 1, dtype=np.uint64))
                rate, steps = float(played["captured"].mean()), float(played["steps"].mean())
                table[f"{name}: {pursuer}-{evader}"] = {"captured": rate, "figure": figure, "steps": steps}
                print(f"{name:20} {pursuer:10} {evader:11} {rate:.3f} ({figure:.3f}) {steps:6.0f} steps", flush=True)
                if abs(rate - figure) > (0.01 if figure >= 0.99 or figure <= 0.02 else 0.03):
                    misses.append(f"{name}: {pursuer}-{evader}")
    print(f"{len(table) - len(misses)} of {len(table)} cells within their tolerance", *misses, sep="\n  ")
    RESULT.write_text(json.dumps({"duels": duels, "misses": misses, "cells": table}, indent=1) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4096)
