"""The benchmark of the published experiments, in miniature: each seed once, rows kept, other options refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TINY = {
    "rollout.lanes": "8",
    "rollout.steps": "8",
    "rollout.threads": "1",
    "learner.minibatch": "64",
    "policy.hidden": "8",
    "evaluation.episodes": "8",
    "evaluation.final_episodes": "8",
    "world.max_steps": "60",
    "duel.turn_steps": "320",
    "duel.max_turns": "3",
    "duel.cold_start_steps": "64",
    "health.window": "20",
}
WORDS = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]


def run_benchmark(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / "pursuit_seeds.py"), str(folder / "runs"), *words]
    return subprocess.run(
        [*command, "--results", str(folder / "results" / "rows.json")], capture_output=True, text=True, cwd=ROOT
    )


def test_arms_are_run_once_over_seeds_and_other_options_cannot_replace_them(tmp_path: Path) -> None:
    done = run_benchmark(tmp_path, "v", "z1", "--seeds", "2", *WORDS)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "results" / "rows.json"
    rows = json.loads(path.read_text())["rows"]
    assert [(row["arm"], row["seed"]) for row in rows] == [("v", 1), ("v", 2), ("z1", 1), ("z1", 2)]
    for row in rows:
        assert row["rates"] and all(0.0 <= rate <= 1.0 for rate in row["rates"]) and row["agent_steps"] > 0
    assert "| v | 2 | " in done.stdout and "change: z1 - v" in done.stdout
    run = tmp_path / "runs" / "v-1" / "metrics.jsonl"
    before, kept = run.read_bytes(), path.read_bytes()
    assert run_benchmark(tmp_path, "v", "z1", "--seeds", "2", *WORDS).returncode == 0
    assert run.read_bytes() == before and path.read_bytes() == kept
    shutil.rmtree(tmp_path / "runs")  # as on another machine, where only the rows came along
    assert run_benchmark(tmp_path, "v", "z1", "--seeds", "2", *WORDS).returncode == 0
    assert not list((tmp_path / "runs").iterdir()) and path.read_bytes() == kept

    refused = run_benchmark(tmp_path, "v", *WORDS, "--set", "learner.gamma=0.9")
    assert refused.returncode == 2 and "--learner.gamma=0.9" in refused.stderr and "other --results" in refused.stderr
    assert path.read_bytes() == kept
    assert "| v | 2 | " in run_benchmark(tmp_path, "v", "--table").stdout


def test_p_values_of_ten_seeds_are_exact() -> None:
    """4 of 1,024 sign patterns are as far out as warm-up's effect; Holm's factor is 13, the third smallest of 15."""
    words = [sys.executable, str(ROOT / "benchmarks" / "pursuit_seeds.py"), "unused"]
    arms = ["v", "x", "z1", "z2", "v+balance", "v+warmup", "v+ewc", "v+rnd", "z1+ewc", "z1+rnd"]
    done = subprocess.run([*words, *arms, "--table"], capture_output=True, text=True, check=True, cwd=ROOT)
    row = next(line for line in done.stdout.splitlines() if line.startswith("| change: v+warmup - v |"))
    assert f"{13 * 4 / 1024:.3f}" in row and "0.051" in row
    documented = (ROOT / "docs" / "selfplay.md").read_text()
    assert row in documented


def test_two_processes_share_the_rows(tmp_path: Path) -> None:
    folder, file = tmp_path / "runs", tmp_path / "rows.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "pursuit_seeds.py"), str(folder), "v", *WORDS]
    both = [
        subprocess.Popen([*command, "--results", str(file), "--first", seed, "--seeds", seed], cwd=ROOT)
        for seed in ("1", "2")
    ]
    assert [one.wait() for one in both] == [0, 0]
    assert [row["seed"] for row in json.loads(file.read_text())["rows"]] == [1, 2]
