"""One policy per stage, stage after stage: python benchmarks/mario_levels.py [--stages all] [--root runs/levels]

Goes on where it stopped: finished stages are kept, an interrupted one is resumed. After each stage the table is written
anew to benchmarks/results/mario_levels.md and .json: clear rate of sampled held-out episodes with Wilson's interval.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from holdfast.worlds.mario.stages import STAGES, read_stages

RESULTS = Path(__file__).resolve().parent / "results"
EPISODES = 100


def holdfast(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "holdfast.cli", *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"holdfast {' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def train(stage: str, root: Path, iterations: int) -> dict[str, Any]:
    """A finished run of this stage; trained, resumed, or as it lies there."""
    name = f"level-{stage}"
    if not (root / name / "result.json").is_file():
        if (root / name).is_dir():
            holdfast("resume", name, "--root", str(root), "--quiet")
        else:
            options = {"world.stages": stage, "world.flag_reward": "15", "world.stagnation_terminal": "true"}
            options |= {"run.name": name, "run.root": str(root), "run.iterations": str(iterations)}
            options |= {"evaluation.every": "0", "run.tensorboard": "false"}
            holdfast("train", "mario-1-1", "--quiet", *(f"--{key}={value}" for key, value in options.items()))
    result: dict[str, Any] = json.loads((root / name / "result.json").read_text())
    told = holdfast("evaluate", name, "--root", str(root), "--episodes", str(EPISODES), "--sampled", "--json")
    row = json.loads(told)["levels"][0]
    return {**row, "steps": result["counts"]["agent_steps"], "minutes": result["elapsed_s"] / 60}


def write_table(rows: list[dict[str, Any]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "mario_levels.json").write_text(json.dumps(rows, indent=1) + "\n")
    lines = ["| stage | cleared | 95 % interval | median steps | training steps | minutes | ends |", "|---" * 7 + "|"]
    for row in rows:
        ends = ", ".join(f"{name} {count}" for name, count in row["ends"].items())
        steps = "–" if row["median_steps"] is None else f"{row['median_steps']:.0f}"
        lines.append(
            f"| {row['stage']} | {row['rate']:.2f} | {row['low']:.2f}–{row['high']:.2f} | {steps} "
            f"| {row['steps']:,} | {row['minutes']:.1f} | {ends} |"
        )
    (RESULTS / "mario_levels.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stages", default="all")
    parser.add_argument("--root", type=Path, default=Path("runs/levels"))
    parser.add_argument("--iterations", type=int, default=120)
    arguments = parser.parse_args()
    rows = []
    for number in read_stages(arguments.stages):
        rows.append(train(STAGES[number], arguments.root, arguments.iterations))
        write_table(rows)
        print(
            f"{rows[-1]['stage']}: {rows[-1]['rate']:.2f} [{rows[-1]['low']:.2f}, {rows[-1]['high']:.2f}]", flush=True
        )


if __name__ == "__main__":
    main()
