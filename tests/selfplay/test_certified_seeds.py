"""The benchmark that certifies seeds of a preset, in miniature: trained, challenged, written down, never twice."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from safetensors import safe_open

from holdfast.runs.metrics import read_lines

ROOT = Path(__file__).parents[2]
TINY = {
    "rollout.lanes": "8",
    "rollout.steps": "8",
    "rollout.threads": "1",
    "learner.minibatch": "64",
    "learner.lr_restart": "0",
    "policy.hidden": "8",
    "run.iterations": "4",
    "run.allow_slow": "true",
    "evaluation.every": "1",
    "evaluation.episodes": "8",
    "evaluation.final_episodes": "8",
    "response.steps": "128",
    "response.duels": "100",
    "response.rounds": "0",
    "response.mends": "0",
    "response.heirs": "none",
    "duel.finish_share": "0",
    "duel.finish_until": "0",
    "world.max_steps": "60",
    "duel.turn_steps": "64",
    "health.window": "20",
}


def run_benchmark(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / "pursuit_certified.py"), str(folder / "runs"), "--seeds", "3"]
    return subprocess.run(
        [*command, "--results", str(folder / "results"), "--limit", "1", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )


def certify(folder: Path, *words: str) -> str:
    done = run_benchmark(folder, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_seed_is_trained_and_challenged_once(tmp_path: Path) -> None:
    words = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
    said = certify(tmp_path, *words)
    path = tmp_path / "results" / "3.json"
    row = json.loads(path.read_text())
    assert row["seed"] == 3 and row["duels"] == 100 and len(row["rates"]) == 4
    assert sorted(row["challengers"]) == ["evader incumbent", "evader scratch", "pursuer incumbent", "pursuer scratch"]
    for one in row["challengers"].values():
        assert one["steps"] >= 128 and 0 <= one["wins"] <= one["duels"] == 100
    assert "seed 3, pursuer incumbent:" in said and "passed: " in said
    before = (tmp_path / "runs" / "pursuit-3" / "metrics.jsonl").read_bytes()
    again = certify(tmp_path, *words)
    assert "M steps" not in again
    assert before == (tmp_path / "runs" / "pursuit-3" / "metrics.jsonl").read_bytes()
    assert json.loads(path.read_text()) == row
    assert "| 3 | " in certify(tmp_path, "--table")


def test_a_kept_pair_is_challenged_without_training_it_again(tmp_path: Path) -> None:
    words = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
    certify(tmp_path, *words, "--challengers", "1")
    whole = tmp_path / "whole"
    certify(whole, *words)
    shutil.rmtree(tmp_path / "runs")
    certify(tmp_path, *words, "--power")
    assert not (tmp_path / "runs").exists()
    found, wanted = (json.loads((folder / "results" / "3.json").read_text()) for folder in (tmp_path, whole))
    assert found["challengers"] == wanted["challengers"]
    assert sorted(found["power"]) == ["evader planted", "evader script", "pursuer planted", "pursuer script"]
    assert "not: " in certify(tmp_path, "--table")  # in so few steps nobody learns to catch a script
    refused = run_benchmark(tmp_path, *words, "--set", "learner.gamma=0.9")
    assert refused.returncode != 0 and "was trained with another learner.gamma" in refused.stderr
    (tmp_path / "results" / "3.safetensors").unlink()
    refused = run_benchmark(tmp_path, *words)
    assert refused.returncode != 0 and "figures of a pair that is no longer kept" in refused.stderr
    assert not (tmp_path / "runs").exists() and "| 3 | " in certify(tmp_path, "--table")


def test_a_seed_goes_on_for_a_tenth_and_is_challenged_again(tmp_path: Path) -> None:
    words = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
    certify(tmp_path, *words, "--challengers", "1")
    before = (tmp_path / "runs" / "pursuit-3" / "metrics.jsonl").read_bytes()
    certify(tmp_path, *words, "--challengers", "1", "--further")
    row = json.loads((tmp_path / "results" / "3.json").read_text())
    further = row["further"]
    assert further["trained"][0] > row["trained"][0] and list(further["challengers"]) == ["pursuer incumbent"]
    assert further["challengers"]["pursuer incumbent"]["steps"] >= further["trained"][0]
    assert (tmp_path / "runs" / "pursuit-3" / "metrics.jsonl").read_bytes() == before
    result = json.loads((tmp_path / "runs" / "pursuit-3-further" / "result.json").read_text())
    assert result["counts"]["iteration"] == 5
    assert "M steps" not in certify(tmp_path, *words, "--challengers", "1", "--further")
    shutil.rmtree(tmp_path / "runs")
    refused = run_benchmark(tmp_path, *words, "--further")
    assert refused.returncode != 0 and "only a whole run can go on" in refused.stderr


def test_a_run_that_tests_itself_is_judged_by_others(tmp_path: Path) -> None:
    """Its own tests are in the row; the challengers that judge it are measured on other duels."""
    rounds = {
        "response.rounds": "1",
        "response.pass_gap": "0",
        "response.anew": "false",
        "response.heirs": "first",
        "evaluation.every": "4",
    }
    words = [word for name, value in (TINY | rounds).items() for word in ("--set", f"{name}={value}")]
    said = certify(tmp_path, *words, "--challengers", "1", "--further")
    row = json.loads((tmp_path / "results" / "3.json").read_text())
    own = [event for event in read_lines(tmp_path / "runs" / "pursuit-3" / "events.jsonl") if "verdict" in event]
    tests = [event for event in own if event["event"] == "best_response"]
    assert [test["iteration"] for test in row["rounds"]] == [test["iteration"] for test in tests]
    assert 1 <= len(tests) <= 2 and [test["iteration"] for test in tests] == [4, 6][: len(tests)]
    last, side = row["rounds"][-1], tests[-1]["sides"]["pursuer"]
    assert last["gaps"]["pursuer"] == [round(side[word], 4) for word in ("gap", "low", "high")]
    assert last["challengers"]["pursuer incumbent"] == side["challengers"]["incumbent"]["steps"] > 0
    assert f"({last['gaps']['pursuer'][0]:+.3f} [" in said
    kept = tmp_path / "results" / "3.safetensors"
    with safe_open(kept, "numpy") as file:
        measured_by = json.loads(file.metadata()["config"])["evaluation"]["seed"]
    trained_by = json.loads((tmp_path / "runs" / "pursuit-3" / "run.json").read_text())["config"]["evaluation"]["seed"]
    assert measured_by == trained_by + 1000
    assert f"{tests[0]['gap']:.3f}" in said and row["further"]["trained"][0] > row["trained"][0]


def test_the_last_pair_of_a_run_that_began_anew_goes_on_for_a_tenth(tmp_path: Path) -> None:
    rounds = {"response.rounds": "1", "response.pass_gap": "0", "evaluation.every": "4"}
    words = [word for name, value in (TINY | rounds).items() for word in ("--set", f"{name}={value}")]
    certify(tmp_path, *words, "--challengers", "0", "--further", "1")
    row = json.loads((tmp_path / "results" / "3.json").read_text())
    assert row["challengers"] == {} and list(row["further"]["challengers"]) == ["pursuer incumbent"]
    begun = 1 + sum(event["event"] == "round" for event in read_lines(tmp_path / "runs" / "pursuit-3" / "events.jsonl"))
    result = json.loads((tmp_path / "runs" / "pursuit-3-further" / "result.json").read_text())
    assert result["counts"]["iteration"] == 4 * begun + 1
    assert row["further"]["trained"][0] == row["trained"][0] * 5 / 4
    own = int(row["rounds"][-1]["verdict"] == "passed" and not row["alarms"])
    assert f"converged by their own tests: {own} of 1" in certify(tmp_path, "--table")
    assert row["minutes_with_tests"] >= row["minutes"] >= 0.0
