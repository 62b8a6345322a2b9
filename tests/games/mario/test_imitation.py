"""Imitating a way: its presses become likelier around the frontier and nowhere else, and resuming changes nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from holdfast.config.checks import check_against_world
from holdfast.config.reading import load_config
from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.curriculum.starts import StartsSettings
from holdfast.games.mario.backward import Backward
from holdfast.games.mario.exploring import NO_PRESS, Passed, Place
from holdfast.games.mario.imitation import AHEAD, AT_ONCE, BEHIND, OVER_AT, Imitation
from holdfast.kit.errors import ConfigError
from holdfast.learner.learner import Learner
from holdfast.runs.reading import read_lines
from holdfast.train import resume
from holdfast.views.dry_run import spec_of
from holdfast.views.terminal import Quiet
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Discrete, Observations
from tests.conftest import finished_run
from tests.games.mario.test_stages import OWN
from tests.test_resume import end_of, stopped_run

LENGTH, ACTIONS = 300, 5


def taught(weight: float, frontier: int | None = None, normalized: bool = False) -> tuple[Learner, Imitation]:
    """A learner, and a way of random sights and presses; with backward starts if there is a frontier."""
    role = Role("player", 1, Observations((8,), np.dtype(np.float32), -9.0, 9.0), Discrete(ACTIONS))
    config = LearnerConfig(normalize_observations=normalized)
    learner = Learner(role, PolicyConfig(hidden=(16,)), config, torch.Generator().manual_seed(1))
    draws = np.random.default_rng(1)
    rows = [{"player.obs": draws.normal(size=(1, 1, 8)).astype(np.float32)} for _ in range(LENGTH)]
    presses = [*draws.integers(0, ACTIONS, LENGTH - 1).tolist(), NO_PRESS]
    way = [Passed(Place(0, n, 0, one), press) for n, (one, press) in enumerate(zip(rows, presses, strict=True))]
    backward = None
    if frontier is not None:
        backward = Backward(StartsSettings(share=1.0, explore=1, backward=True), 8)
        backward.follow([(0, one.place.x, one.place.rows) for one in way])
        backward.frontier = frontier
    found = Imitation(learner, weight, backward)
    found.take(way)
    return learner, found


def step(learner: Learner) -> None:
    learner.optimizer.zero()
    learner.optimizer.step(1e-2, 0.5)


@pytest.mark.parametrize(("frontier", "normalized"), [(150, False), (150, True), (None, False)])
def test_presses_become_likelier(frontier: int | None, normalized: bool) -> None:
    learner, imitation = taught(1.0, frontier, normalized)
    step(learner)
    first = imitation.agreement
    for _ in range(200):
        step(learner)
    assert first < 0.3 and imitation.agreement > first + 0.1


def test_the_gradient_is_the_weight_times_that_of_the_mean_log_chance() -> None:
    learner, imitation = taught(0.25, frontier=150)
    learner.optimizer.zero()
    learner.optimizer.gradients += 1.0
    imitation.pull()
    added = learner.optimizer.gradients - 1.0
    rows = slice(150 - AHEAD, 150 + BEHIND)
    learner.optimizer.zero()
    log_p = torch.log_softmax(learner.eager.forward(torch.from_numpy(imitation.obs[rows])).actions, -1)
    pressed = torch.from_numpy(imitation.presses[rows])
    (-0.25 * log_p[torch.arange(len(pressed)), pressed].mean()).backward()
    assert torch.allclose(added, learner.optimizer.gradients, atol=1e-6) and float(added.abs().max()) > 0.0


def test_with_backward_starts_it_follows_the_frontier_and_ends_with_it() -> None:
    learner, imitation = taught(1.0, frontier=LENGTH - 4)
    assert imitation.backward is not None
    assert len(imitation.presses[imitation.chosen()]) == AHEAD + 3, "the last press is not known"
    imitation.at(0.9)
    assert imitation.fading == 1.0
    imitation.backward.frontier = 40
    assert imitation.chosen() == slice(40 - AHEAD, 40 + BEHIND)
    imitation.backward.frontier = 0
    learner.optimizer.zero()
    imitation.pull()
    assert not len(imitation.presses[imitation.chosen()]) and not learner.optimizer.gradients.any()


def test_without_a_frontier_all_of_the_way_comes_in_turn_and_it_fades() -> None:
    learner, imitation = taught(1.0)
    seen: set[int] = set()
    for _ in range(round(LENGTH / AT_ONCE)):
        seen |= set(range(LENGTH - 1)[imitation.chosen()])
        step(learner)
    assert seen == set(range(LENGTH - 1))
    imitation.at(OVER_AT / 2)
    assert imitation.fading == 0.5
    imitation.at(OVER_AT)
    learner.optimizer.zero()
    imitation.pull()
    assert not learner.optimizer.gradients.any()


@pytest.mark.parametrize("way", [{"starts.backward": "true"}, {"starts.along": "true"}, {}])
def test_a_run_that_imitates_resumes_exactly(tmp_path: Path, way: dict[str, str]) -> None:
    options = {**OWN, "world.max_steps": "600", "starts.explore": "60000", **way}
    options |= {"starts.imitate": "0.5", "run.iterations": "10"}
    whole, _ = finished_run(tmp_path, "mario", **options)
    run, config = stopped_run(tmp_path, "mario", 4, **options)
    resume(config, run, Quiet())
    assert end_of(run) == end_of(whole)
    [event] = [one for one in read_lines(whole.folder / "events.jsonl") if one["event"] == "explored"]
    assert event["ways_to_the_end"] > 0
    rows = read_lines(whole.folder / "metrics.jsonl")
    assert rows[-1]["starts.agreement"] > rows[0]["starts.agreement"] > 0.0


def test_one_place_on_the_way_is_chosen_in_one_way() -> None:
    words = ["--starts.share", "0.5", "--starts.explore", "9", "--starts.backward", "true", "--starts.along", "true"]
    config, explicit = load_config("mario", [*words, "--world.rom", "own"])
    with pytest.raises(ConfigError, match=r"starts\.backward and starts\.along both say"):
        check_against_world(config, explicit, spec_of(config))


def test_a_policy_with_a_memory_is_refused() -> None:
    words = ["--starts.share", "0.5", "--starts.explore", "9", "--starts.backward", "true", "--starts.imitate", "1"]
    config, explicit = load_config("mario", [*words, "--policy.core", "gru", "--world.rom", "own"])
    with pytest.raises(ConfigError, match=r"starts\.imitate = 1 shows single moments"):
        check_against_world(config, explicit, spec_of(config))
