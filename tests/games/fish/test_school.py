"""Schedule, gate and deck inside a real, small run: what they set in the world, what they write, and exact resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.config.checks import check_against_world
from holdfast.config.reading import load_config
from holdfast.config.sections import Config
from holdfast.curriculum.dealing import Dealer
from holdfast.curriculum.deck_files import read_deck
from holdfast.curriculum.deck_queue import Block
from holdfast.games.fish.game import METRICS
from holdfast.games.fish.school_replay import read_replays, tracks_path
from holdfast.games.fish.views.films import frames
from holdfast.games.fish.world import floor
from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.kit.errors import ConfigError
from holdfast.runs.checkpoint import load
from holdfast.runs.folder import RunFolder, create_run
from holdfast.runs.metrics import read_lines
from holdfast.train import resume, train
from holdfast.views.dry_run import spec_of
from holdfast.views.terminal import Quiet
from tests.conftest import finished_run

LIGHT = {"format": "deck-light/1", "note": "test", "velocities": [[1.5, 1.5], [0.0, 2.0], [-1.0, 0.5]]}
STAGES = "1:light.json|label=a;1:light.json|type=ne|label=b;2:@harvest|label=own"
SMALL_SCHOOL = {
    "world.fish": "8",
    "world.steps": "20",
    "rollout.lanes": "6",
    "rollout.steps": "16",
    "learner.minibatch": "96",
    "learner.engine": "torch",
    "run.iterations": "6",
    "evaluation.world": '{"fish": 12, "steps": 40}',
    "evaluation.episodes": "4",
    "evaluation.final_episodes": "4",
    "evaluation.every": "1",
    "schedule.phases": "4:2,8:2,8:2",
    "gate.enabled": "true",
    "gate.controls": "schedule",
    "gate.phase_allowance": "1,2,3",
    "gate.freeze_iterations": "0",
    "gate.success_freeze_iterations": "0",
    "gate.success_early_death": "1.0",
    "gate.success_early_death_window": "1",
    "gate.success_p10": "none",
    "gate.failure_p10": "none",
    "gate.failure_min_final": "none",
}


def school_run(folder: Path, **options: str) -> RunFolder:
    (folder / "light.json").write_text(json.dumps(LIGHT))
    deck = {"deck.stages": STAGES, "deck.share": "0.7"}
    return finished_run(folder / "runs", "fish", **SMALL_SCHOOL, **deck, **options)[0]


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    return tmp_path


def test_evaluations_on_the_same_seeds_search_their_floors_once(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[int] = []

    def begun(settings: FishSettings, lanes: int, seed: int) -> Fish:
        searched.append(lanes)
        return Fish(settings, lanes, seed)

    monkeypatch.setattr(floor, "Fish", begun)  # the worlds that floors are searched in
    floor._floor_of.cache_clear()
    run = school_run(in_folder)
    assert len(read_lines(run.folder / "eval_history.jsonl")) == 6
    assert searched == [4] * 4  # one step and five ahead, for the six evaluations and for the last on held-out seeds


def test_a_gate_that_passes_lets_the_schedule_go_on_and_leaves_its_evidence(in_folder: Path) -> None:
    run = school_run(in_folder)
    metrics = read_lines(run.folder / "metrics.jsonl")
    assert [line["curriculum.fish"] for line in metrics] == [4, 4, 8, 8, 8, 8]
    assert [line["curriculum.level"] for line in metrics] == [1, 2, 2, 2, 2, 2]
    decisions = read_lines(run.folder / "gate_debug.jsonl")
    assert [line["event"] for line in decisions][:3] == ["advance", "advance", "success_progress"]
    events = [line for line in read_lines(run.folder / "events.jsonl") if line["event"] == "gate"]
    assert [event["decision"] for event in events] == decisions
    outcome = json.loads((run.folder / "result.json").read_text())["curriculum"]
    assert outcome["gate"] == {"level": 2, "max_level": 2} and outcome["final"]["episodes"] == 4
    logged = {name for line in metrics for name in line}
    assert {metric.name for metric in METRICS} <= logged


def test_a_gate_that_never_passes_holds_the_schedule_back(in_folder: Path) -> None:
    run = school_run(in_folder, **{"gate.success_min_final": "1.0", "gate.success_step_one": "0"})
    trace = read_lines(run.folder / "schedule_trace.jsonl")
    assert {line["fish"] for line in trace} == {4} and {line["gate_level"] for line in trace} == {0}


def test_the_deck_is_dealt_at_resets_and_its_files_are_kept_with_the_run(in_folder: Path) -> None:
    run = school_run(in_folder)
    trace = read_lines(run.folder / "schedule_trace.jsonl")
    deals = [line["deck"]["deals"] for line in trace]
    assert deals[0] > 0 and deals == sorted(deals) and deals[-1] <= 4 * 6
    assert sorted(path.name for path in (run.folder / "decks").glob("0*")) == ["01_light.json", "02_light.json"]
    assert trace[-1]["deck"]["entered"] == ["a", "b", "own"]
    harvested = [line for line in read_lines(run.folder / "events.jsonl") if line["event"] == "harvest"]
    assert len(harvested) == 6 and all((run.folder / line["file"]).is_file() for line in harvested if line["file"])


def test_the_worst_episodes_are_kept_as_they_were_judged_and_can_be_filmed(in_folder: Path) -> None:
    run = school_run(in_folder)
    judged = read_lines(run.folder / "eval_history.jsonl")[-1]
    worst = read_replays(tracks_path(run.folder, 6))
    order = sorted(range(4), key=lambda episode: judged["final_alive"][episode])
    assert len(worst) == 2 and judged["final_alive"][worst[0].episode] == judged["final_alive"][order[0]]
    assert worst[0].death_step.tolist() == judged["death_steps"][worst[0].episode]
    assert len(worst[0].fish) == 40 and len(read_deck(run.folder / "decks/worst_iter0006.npz")) == 2
    moved = np.hypot(*(worst[0].fish[0] - worst[0].fish[-1]).astype(float).T)
    assert moved.max() > 1.0
    drawn = list(frames(worst[0], stride=20))
    assert len(drawn) == 2 and drawn[0].shape == (480, 480, 3) and (drawn[0] != drawn[1]).any()


def _state(run: RunFolder, iteration: int) -> tuple[dict[str, Any], dict[str, Any]]:
    saved = load(run.folder / "checkpoints" / f"{iteration:06d}")
    return saved.arrays, saved.facts


def test_a_resumed_school_ends_as_if_it_had_never_stopped(in_folder: Path) -> None:
    whole = school_run(in_folder, **{"checkpoint.every": "1", "checkpoint.keep": "9", "run.name": "whole"})
    config = _config("cut", in_folder)
    run = create_run(config, "fish", ["test"])
    train(config, run, Quiet())
    for name in ("000004", "000005", "000006"):
        _remove(run.folder / "checkpoints" / name)
    (in_folder / "light.json").unlink()  # the run has its own copy
    resume(config, run, Quiet())
    mine, theirs = _state(run, 6), _state(whole, 6)
    assert all(np.array_equal(mine[0][name], theirs[0][name]) for name in theirs[0])
    assert mine[1]["curriculum"] == theirs[1]["curriculum"] and mine[1]["counts"] == theirs[1]["counts"]
    for stream in ("metrics.jsonl", "schedule_trace.jsonl", "gate_debug.jsonl", "eval_history.jsonl"):
        assert (run.folder / stream).read_bytes() == (whole.folder / stream).read_bytes()


def _config(name: str, folder: Path) -> Config:
    words = {
        **SMALL_SCHOOL,
        "deck.stages": STAGES,
        "deck.share": "0.7",
        "rollout.threads": "1",
        "run.tensorboard": "false",
        "run.root": str(folder / "runs"),
        "run.name": name,
        "checkpoint.every": "1",
        "checkpoint.keep": "9",
    }
    return load_config("fish", [f"--{key}={value}" for key, value in words.items()])[0]


def _remove(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def test_schools_do_not_reset_in_lock_step(in_folder: Path) -> None:
    run = school_run(in_folder)
    ended = [line["training"]["episodes"] for line in read_lines(run.folder / "schedule_trace.jsonl")]
    assert sum(count > 0 for count in ended) >= 5


def test_every_lane_gets_the_items_of_its_place_and_a_share_of_resets_deals() -> None:
    dealer = Dealer((Block(1, "a", "main", 2), Block(2, "b", "ne", 1)), lanes=4, share=1.0, on_empty="spawn")
    keys, lanes = np.arange(1, 5, dtype=np.uint64), np.arange(4)
    rounds = [dealer.draw(lanes, keys, np.full(4, episode, np.uint64), [True] * 2) for episode in range(4)]
    assert [draw.item for draw in rounds[0]] == [0, 1, 2, 3] and [draw.item for draw in rounds[1]] == [4, 5, 6, 7]
    assert [draw.block for draw in rounds[2]] == [1] * 4 and [draw.item for draw in rounds[2]] == [0, 1, 2, 3]
    assert rounds[3] == [] and dealer.is_empty
    half = Dealer((Block(1, "a", "main", 10_000),), lanes=4, share=0.25, on_empty="spawn")
    dealt = sum(len(half.draw(lanes, keys, np.full(4, episode, np.uint64), [True] * 2)) for episode in range(1000))
    assert 850 < dealt < 1150


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"schedule.phases": "4:2,9:4"}, "world.fish = 8 is the room there is"),
        ({"schedule.phases": "4:2"}, "2 iterations, but run.iterations is 6"),
        ({"deck.stages": "x:light.json"}, "deck.stages: stage 1"),
        ({"gate.by_type.ne.success_p10": "5"}, "gate.by_type"),
        ({"density.targets": "0,0,0"}, "density.targets has no effect while world.reward is survive"),
        ({"harvest.enabled": "false"}, "harvest needs harvest.enabled = true"),
    ],
)
def test_options_that_do_not_fit_are_named(options: dict[str, str], words: str) -> None:
    chosen = {**SMALL_SCHOOL, **options}
    config, explicit = load_config("fish", [f"--{key}={value}" for key, value in chosen.items()])
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")):
        check_against_world(config, explicit, spec_of(config))
