"""Start states, adaptive values and forced lanes in real runs of the game, on the project's own cartridge."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from holdfast.config.checks import check_against_world
from holdfast.config.reading import load_config
from holdfast.curriculum.deck_files import read_deck
from holdfast.games.mario.world import facts, play
from holdfast.kit.errors import ConfigError
from holdfast.runs.reading import read_lines
from holdfast.runs.reopen import config_of, load_learners
from holdfast.state import fresh_learners
from holdfast.train import resume
from holdfast.views.dry_run import spec_of
from holdfast.views.terminal import Quiet
from tests.conftest import finished_run
from tests.games.mario.bot import RUN, own_world, press
from tests.test_resume import end_of, stopped_run

OWN = {"world.rom": "own", "policy.hidden": "16", "rollout.lanes": "8", "rollout.steps": "32"}
OWN |= {
    "learner.minibatch": "64",
    "starts.share": "0.9",
    "world.max_steps": "60",
    "run.iterations": "6",
    "evaluation.every": "0",
}
OWN |= {"evaluation.final_episodes": "2"}


def test_a_run_with_start_states_resumes_exactly_and_leaves_them_as_a_deck(tmp_path: Path) -> None:
    whole, _ = finished_run(tmp_path, "mario", **OWN)
    run, config = stopped_run(tmp_path, "mario", 4, **OWN)
    resume(config, run, Quiet())
    assert end_of(run) == end_of(whole)
    last = read_lines(whole.folder / "metrics.jsonl")[-1]
    assert last["starts.dealt"] > 0 and last["starts.moments"] >= last["starts.bins"] > 0
    deck = read_deck(whole.folder / "decks/starts.npz")
    assert len(deck) == last["starts.moments"] and set(deck.per_item) == {"room", "x", "tried", "won"}


def test_a_stage_is_explored_once_before_the_first_iteration(tmp_path: Path) -> None:
    options = {**OWN, "starts.explore": "1600"}
    whole, _ = finished_run(tmp_path, "mario", **options)
    run, config = stopped_run(tmp_path, "mario", 4, **options)
    resume(config, run, Quiet())
    assert end_of(run) == end_of(whole)
    [event] = [one for one in read_lines(run.folder / "events.jsonl") if one["event"] == "explored"]
    assert event["steps"] >= 1600 and event["moments"] > 0
    first = read_lines(whole.folder / "metrics.jsonl")[0]
    assert first["starts.moments"] == event["moments"]


def test_an_episode_from_a_moment_goes_on_there_with_empty_accounts() -> None:
    world = own_world(lanes=2)
    for _ in range(12):
        press(world, RUN)
    x = int(facts.x(world.state.console[0]))
    y = int(facts.y(world.state.console[0]))
    assert world.standing().tolist() == [[1, 0, x, y], [1, 0, x, y]]
    kept = world.of_episode(world.save(np.array([0])))
    world.reset(np.array([1]))
    world.begin_from(np.array([1]), kept)
    assert int(facts.x(world.state.console[1])) == x > 40
    assert not world.state.paid[1].any() and world.state.track[1, play.STAGNANT] == 0
    assert np.array_equal(world.roles["player"].obs[0], world.roles["player"].obs[1])


def test_start_states_are_refused_where_nothing_reads_them() -> None:
    for target, words in (("template", ["--starts.share", "0.5"]), ("mario", ["--starts.keep", "3"])):
        with pytest.raises(ConfigError, match="starts"):
            config, explicit = load_config(target, words)
            check_against_world(config, explicit, spec_of(config))


STILL = {"world.script": "NOOP:48", "rollout.steps": "16", "run.iterations": "6"}  # three iterations without ground
ADAPTIVE = {"adaptive.distance.min": "0.01", "adaptive.distance.max": "0.1", "adaptive.entropy.min": "0.001"}
ADAPTIVE |= {"adaptive.entropy.max": "0.05", "adaptive.lr.min": "0.5", "adaptive.lr.max": "2"}
FORCING = {"bootstrap.auto_threshold": "2", "bootstrap.auto_steps": "24"}


def test_adaptive_values_act_where_they_are_read_back_and_resume_exactly(tmp_path: Path) -> None:
    options = {**OWN, **STILL, **ADAPTIVE, **FORCING, "starts.share": "0"}
    run, config = stopped_run(tmp_path, "mario", 4, **options)
    resume(config, run, Quiet())
    whole, _ = finished_run(tmp_path, "mario", **options)
    assert end_of(run) == end_of(whole)
    lines, events = read_lines(whole.folder / "metrics.jsonl"), read_lines(whole.folder / "events.jsonl")
    scheduled = {"distance": 0.0125, "entropy": config.learner.entropy, "lr": 1.0}
    logged = {"distance": "adaptive.distance_weight", "entropy": "adaptive.entropy", "lr": "adaptive.lr_scale"}
    scheduled["entropy"] = max(scheduled["entropy"], 0.001)
    for line in lines:
        assert {name: line[metric] for name, metric in logged.items()} == pytest.approx(scheduled)
        changes = [event for event in events if event["event"] == "adapted" and event["iteration"] == line["iteration"]]
        scheduled |= {event["name"]: event["after"] for event in changes}
    assert scheduled["distance"] > 0.0125, "nobody made ground at first, so a pixel paid more"


def test_lanes_are_forced_forward_when_nobody_makes_ground(tmp_path: Path) -> None:
    run, _ = finished_run(tmp_path, "mario", **{**OWN, **STILL, **FORCING, "starts.share": "0"})
    lines, events = read_lines(run.folder / "metrics.jsonl"), read_lines(run.folder / "events.jsonl")
    [order] = [event for event in events if event["event"] == "bootstrap"]
    assert (order["iteration"], order["rule"], order["lanes"]) == (2, "auto", 8)
    assert [line["progress.distance_px"] > 0 for line in lines[:5]] == [False] * 3 + [True] * 2
    assert [line["learner.player.forced_share"] for line in lines] == [1, 1, 1, 1, 0.5, 0]  # 48 scripted, then 24
    assert [line["bootstrap.forced_left"] for line in lines] == [0, 192, 192, 64, 0, 0]


@pytest.mark.parametrize("algorithm", ["ppo", "vtrace"])
def test_nothing_is_learned_from_forced_steps(tmp_path: Path, algorithm: str) -> None:
    forced = {**OWN, "world.script": "NOOP:40", "run.iterations": "1", "learner.algorithm": algorithm}
    run, _ = finished_run(tmp_path, "mario", **{**forced, "starts.share": "0"})
    learners, saved = load_learners(run, config_of(run), "latest")
    world = own_world(actions="simple")
    fresh = fresh_learners(config_of(run), world)["player"].optimizer.parameters
    assert torch.equal(learners["player"].optimizer.parameters, fresh)
    assert saved.meta["counters"]["optimizer_steps"]["player"] == 0
    assert read_lines(run.folder / "metrics.jsonl")[0]["learner.player.forced_share"] == 1.0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--adaptive.distance.min=0.01"], "one bound alone"),
        (["--adaptive.lr.min=2", "--adaptive.lr.max=1"], "is not above"),
        (["--adaptive.distance.min=0", "--adaptive.distance.max=1", "--world.distance_anneal=50"], "distance_anneal"),
        (["--adaptive.entropy.min=0", "--adaptive.entropy.max=1", "--learner.entropy_final=0"], "entropy_final"),
        (["--adaptive.window=20"], "adaptive.window has no effect"),
        (["--bootstrap.auto_steps=20"], "auto_threshold and auto_steps act only together"),
        (["--bootstrap.secondary_share=0.2"], "secondary_share has no effect"),
        (["--bootstrap.auto_steps=9", "--bootstrap.auto_threshold=1", "--world.actions=NOOP,LEFT"], "forward_action"),
    ],
)
def test_what_cannot_act_is_refused(words: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        config, explicit = load_config("mario", ["--world.rom=own", *words])
        check_against_world(config, explicit, spec_of(config))
