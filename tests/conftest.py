"""What tests share: tiny configurations, quiet runs in temporary folders, and the command as a real process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.config.reading import load_config
from holdfast.config.sections import Config
from holdfast.runs.folder import RunFolder, create_run
from holdfast.runs.watch import Result
from holdfast.train import train
from holdfast.views.terminal import Quiet

SMALL = {
    "rollout.lanes": "16",
    "rollout.steps": "8",
    "rollout.threads": "1",
    "learner.minibatch": "64",
    "run.iterations": "4",
    "run.stop_score": "none",
    "run.tensorboard": "false",
    "evaluation.every": "2",
    "evaluation.episodes": "8",
    "evaluation.final_episodes": "8",
    "checkpoint.every": "2",
}


def small_config(target: str = "template", **options: str) -> Config:
    """A configuration that runs in a moment; options are given as section_dot_key="text" through a dict."""
    chosen = {**SMALL, **options}
    return load_config(target, [f"--{name}={value}" for name, value in chosen.items()])[0]


def small_words(**options: str) -> list[str]:
    return [f"--{name}={value}" for name, value in {**SMALL, **options}.items()]


def finished_run(folder: Path, target: str = "template", **options: str) -> tuple[RunFolder, Result]:
    """A whole small run in this folder."""
    config = small_config(target, **{"run.root": str(folder), **options})
    run = create_run(config, target, ["test"])
    result = train(config, run, Quiet())
    run.unlock()
    return run, result


# No process must be left alone with a long file at the end; the first two compile different worlds.
LONGEST_FIRST = (
    "worlds/test_every_world.py",
    "test_learning.py",
    "nes/test_blocks.py",
    "test_loop.py",
    "test_cli.py",
    "test_resume.py",
    "test_config.py",
    "test_rehearsal.py",
    "selfplay/test_rehearsal.py",
    "games/pursuit/test_scripted.py",
    "nes/test_twin.py",
    "games/mario/test_doctor.py",
    "test_examples.py",
    "curriculum/test_deck_files.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    root = Path(__file__).parent
    order = {root / name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))


@pytest.fixture(autouse=True, scope="session")
def _own_store_of_trust(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Modules named by tests are not trusted by whoever runs them."""
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("config"))


Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def holdfast(tmp_path: Path) -> Command:
    """`holdfast WORDS` as a user's process, in a folder of its own."""

    def call(*words: str, timeout: float = 240, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "holdfast.cli.command", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, **env},
        )

    return call
