"""The kept policies of all levels where a quarter of the steps repeat the buttons before: how much of a policy is a
memory of one way? Same held-out episodes as in the table, likeliest actions.

    python benchmarks/mario_sticky.py [EPISODES, default 100]

Writes benchmarks/results/mario_levels/sticky.md as it goes.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from holdfast.games.mario.views.levels import judge_stage
from holdfast.runs.shelf import ENDING, shelves, take_down

FOLDER = Path(__file__).parent / "results" / "mario_levels"
STICKY = 0.25


def main(episodes: int) -> None:
    lines = ["| stage | cleared with sticky buttons | 95 % interval |", "|---|---|---|"]
    for path in sorted(shelves()[0].glob(f"*{ENDING}")):
        kept = take_down(path)
        config = dataclasses.replace(kept.config, world=dataclasses.replace(kept.config.world, sticky=STICKY))
        row = judge_stage(config, kept.learners, path.stem, episodes, sampled=False)
        lines.append(f"| {row.stage} | {row.rate:.2f} | {row.low:.2f}–{row.high:.2f} |")
        print(lines[-1], flush=True)
        (FOLDER / "sticky.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
