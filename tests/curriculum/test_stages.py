"""Start states in a real run of the game, on the project's own cartridge."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from holdfast.config_checks import check_against_world
from holdfast.config_reading import load_config
from holdfast.curriculum.deck_files import read_deck
from holdfast.errors import ConfigError
from holdfast.runs.reading import read_lines
from holdfast.train import resume
from holdfast.views.dry_run import spec_of
from holdfast.views.terminal import Quiet
from holdfast.worlds.mario import facts, play
from tests.conftest import finished_run
from tests.test_resume import end_of, stopped_run
from tests.worlds.mario.bot import RUN, own_world, press

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


def test_an_episode_from_a_moment_goes_on_there_with_empty_accounts() -> None:
    world = own_world(lanes=2)
    for _ in range(12):
        press(world, RUN)
    x = int(facts.x(world.state.console[0]))
    assert world.standing().tolist() == [[1, 0, x], [1, 0, x]]
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
