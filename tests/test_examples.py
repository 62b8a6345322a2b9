"""Every example runs as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli.demo import demo
from tests.conftest import small_words

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL_DEMO = {
    "world.fish": "5",
    "rollout.lanes": "8",
    "evaluation.world": '{"fish": 6, "steps": 40}',
    "schedule.phases": "4:50%,5:50%",
    "gate.phase_allowance": "1,2",
    "gate.accept_infeasible": "true",  # 4 iterations are too few for it
}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path) -> None:
    options = small_words(**SMALL_DEMO) if path.stem == "demo" else []
    done = subprocess.run([sys.executable, str(path), *options], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if path.stem == "demo":
        assert (tmp_path / "runs/fish-1/report.html").stat().st_size > 10_000
        assert (tmp_path / "runs/fish-1/media/play.mp4").stat().st_size > 1_000
        assert "dodge_shelter" in done.stdout
    if path.stem == "own_world":
        assert "in training: [5, 8, 11, 14, 17, 20" in done.stdout and "it goes left" in done.stdout


def test_the_verb_demo_does_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert demo(small_words(**SMALL_DEMO), quiet=True) == 0
    assert (tmp_path / "runs/fish-1/report.html").stat().st_size > 10_000
    assert (tmp_path / "runs/fish-1/media/play.mp4").stat().st_size > 1_000
