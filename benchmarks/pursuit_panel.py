"""Every scripted pursuer against every scripted evader in five settings: captures, beside an independent build.

    python benchmarks/pursuit_panel.py [DUELS]

Writes benchmarks/results/pursuit_panel.json, with the outcomes of the first duels of each cell, which the tests play
again (`tests/games/pursuit/test_scripted.py`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.games.pursuit.panel import PANEL, figures, play_panel, tolerance

RESULT = Path(__file__).parent / "results" / "pursuit_panel.json"
AGAIN = 48  # duels of each cell that the tests play again


def main(duels: int) -> None:
    table, misses = {}, []
    for name in PANEL:
        played = play_panel(name, duels)
        for cell, figure in figures(name).items():
            captured, steps = played[cell]
            rate = float(captured.mean())
            first = "".join(str(int(one)) for one in captured[:AGAIN])
            table[f"{name}: {cell}"] = {
                "captured": rate,
                "figure": figure,
                "steps": float(steps.mean()),
                "first": first,
            }
            print(f"{name:20} {cell:22} {rate:.3f} ({figure:.3f}) {steps.mean():6.0f} steps", flush=True)
            if abs(rate - figure) > tolerance(figure):
                misses.append(f"{name}: {cell}")
    print(f"{len(table) - len(misses)} of {len(table)} cells within their tolerance", *misses, sep="\n  ")
    RESULT.write_text(json.dumps({"duels": duels, "misses": misses, "cells": table}, indent=1) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4096)
