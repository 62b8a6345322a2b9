"""Out of memory, a run goes on with smaller batches, rung by rung, or ends with one clear error."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast.rollout.seat as loop
from holdfast.config.checks import check_against_world
from holdfast.config.sections import Config
from holdfast.learner.batch import make_batch
from holdfast.runs.errors import OutOfMemory
from holdfast.runs.folder import RunFolder, create_run
from holdfast.runs.ladder import Rung, batch_bytes, is_out_of_memory, on_rung, roles_of, rungs
from holdfast.runs.reading import read_lines
from holdfast.runs.reopen import config_of
from holdfast.train import train
from holdfast.views.terminal import Quiet
from holdfast.worlds.registry import make_world
from tests.conftest import small_config

OPTIONS = {"memory.auto": "true", "rollout.lanes": "16", "rollout.steps": "64", "learner.minibatch": "256"}
LADDER = [
    Rung(16, 64, 256),
    Rung(16, 64, 128, pieces=2),
    Rung(16, 32, 128),
    Rung(12, 32, 128),
    Rung(8, 32, 128),
    Rung(8, 16, 128),
]


def sizes(config: Config) -> Rung:
    return Rung(config.rollout.lanes, config.rollout.steps, config.learner.minibatch, config.learner.grad_accum)


def test_the_rungs_are_those_that_were_promised() -> None:
    config = small_config(**OPTIONS)
    assert rungs(config, roles_of(config)) == LADDER


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 70), st.integers(1, 130), st.sampled_from(["none", "gru"]))
def test_every_rung_is_a_configuration_that_works_and_no_larger(lanes: int, steps: int, core: str) -> None:
    options = {"rollout.lanes": str(lanes), "rollout.steps": str(steps), "policy.core": core}
    config = small_config(**{**OPTIONS, **options, "learner.minibatch": str(lanes * steps)})
    world = make_world(config.world_name, config.world, 1, 0)
    found = rungs(config, world.spec.roles)
    assert len(set(found)) == len(found)
    for above, below in pairwise(found):
        check_against_world(on_rung(config, below), frozenset(), world.spec)
        smaller_batch = below.lanes * below.steps < above.lanes * above.steps
        same_step = below[:2] == above[:2] and below.minibatch * below.pieces == above.minibatch * above.pieces
        assert smaller_batch != same_step and below.minibatch <= found[0].minibatch
        assert below.lanes >= min(lanes, 2) and below.steps >= min(steps, 16)


def run_with(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fits: int, kind: Exception, at: int = 2
) -> tuple[RunFolder, Any]:
    """A run that is out of memory in iteration `at` of each process, unless it is on rung `fits` or below."""
    config = small_config(**{**OPTIONS, "run.root": str(folder), "run.iterations": "8", "checkpoint.every": "1"})
    run = create_run(config, "template", ["test"])
    real = loop.collect

    def collect(world: Any, learners: Any, batches: Any, *rest: Any) -> Any:
        (batch,), (learner,) = batches.values(), learners.values()
        rung = Rung(batch.rows, batch.steps, learner.config.minibatch, learner.config.grad_accum)
        collect.count += 1  # type: ignore[attr-defined]
        if LADDER.index(rung) < fits and collect.count % at == 0:  # type: ignore[attr-defined]
            raise kind
        return real(world, learners, batches, *rest)

    collect.count = 0  # type: ignore[attr-defined]
    monkeypatch.setattr(loop, "collect", collect)
    try:
        return run, train(config, run, Quiet())
    finally:
        run.unlock()


@pytest.mark.parametrize("fits", range(1, len(LADDER)))
def test_each_rung_is_reached_and_the_run_goes_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fits: int
) -> None:
    run, result = run_with(tmp_path, monkeypatch, fits, MemoryError())
    assert result.outcome == "finished" and result.counts.iteration == 8
    assert sizes(config_of(run)) == LADDER[fits]
    assert [row["iteration"] for row in read_lines(run.folder / "metrics.jsonl")] == [1, 2, 3, 4, 5, 6, 7, 8]
    resumed = [event for event in read_lines(run.folder / "events.jsonl") if event["event"] == "resumed"]
    assert len(resumed) == fits and all("out of memory" in event["notes"][0] for event in resumed)
    assert len(run.describe()["earlier_configs"]) == fits


def test_a_ladder_that_is_used_up_is_one_clear_error_with_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OutOfMemory, match="every rung of the ladder") as failed:
        run_with(tmp_path, monkeypatch, len(LADDER), RuntimeError("DefaultCPUAllocator: can't allocate memory"), at=1)
    assert failed.value.exit_status == 1
    assert str(failed.value).count("\n") == len(LADDER) and "8 lanes x 16 steps" in str(failed.value)


def test_other_errors_and_runs_without_the_ladder_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RuntimeError, match="something else"):
        run_with(tmp_path, monkeypatch, 1, RuntimeError("something else"))
    monkeypatch.setitem(OPTIONS, "memory.auto", "false")
    with pytest.raises(OutOfMemory, match=r"memory\.auto = true"):
        run_with(tmp_path, monkeypatch, 1, MemoryError())


def test_a_rung_that_would_not_fit_is_not_even_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small_config(**OPTIONS)
    need = [batch_bytes(rung, roles_of(config), 0) for rung in LADDER]
    assert need[0] == need[1] and need[1:] == sorted(set(need), reverse=True)  # the batch is the same

    class Memory:
        available = need[2]

    monkeypatch.setattr("holdfast.runs.ladder.psutil.virtual_memory", Memory)
    run, _ = run_with(tmp_path, monkeypatch, 0, MemoryError())
    assert sizes(config_of(run)) == LADDER[2]


def test_the_forecast_is_what_batches_really_take() -> None:
    config = small_config(**OPTIONS)
    roles = roles_of(config)
    batch = make_batch(roles[0], 16, 64, 0)
    assert batch_bytes(LADDER[0], roles, 0) == 2 * sum(tensor.numel() * tensor.element_size() for tensor in batch)


def test_real_allocations_that_fail_are_recognised() -> None:
    with pytest.raises(MemoryError) as from_numpy:
        np.zeros(2**60, np.uint8)
    with pytest.raises(RuntimeError) as from_torch:
        torch.zeros(2**60, dtype=torch.uint8)
    assert is_out_of_memory(from_numpy.value) and is_out_of_memory(from_torch.value)
    assert not is_out_of_memory(RuntimeError("no")) and not is_out_of_memory(ValueError("out of memory"))
