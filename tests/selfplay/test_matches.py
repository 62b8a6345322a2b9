"""Matches in a world that shrinks as duels end come out as they do in one that stays whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from holdfast.config.sections import Config
from holdfast.learner.learner import Learner
from holdfast.rollout.evaluate import evaluation_keys
from holdfast.selfplay import matches
from holdfast.selfplay.judging import make_ground
from holdfast.selfplay.matches import Contender, Ground, frozen, play_matches, script
from holdfast.selfplay.role_learner import spare_maker
from holdfast.selfplay.vault import arrays_of
from holdfast.worlds.api import WorldSpec
from holdfast.worlds.registry import make_world
from tests.conftest import small_config

DUELS = 48
FAST = {"world.obs": "flat_masked", "world.arena_w": "6", "world.arena_h": "6", "world.max_steps": "80"}
FAST |= {"world.spawn_min": "1", "world.spawn_max": "5", "world.obstacles": "0", "world.v_max_pursuer": "2"}


def random_learner(config: Config, spec: WorldSpec, role: int, seed: int) -> Learner:
    made = spare_maker(config, spec.roles[role])()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        made.optimizer.parameters.add_(0.3 * torch.randn(len(made.optimizer.parameters), generator=generator))
    return made


def field(core: str) -> tuple[Ground, list[Contender], list[Contender]]:
    config = small_config("pursuit-flat", **FAST, **{"policy.core": core, "evaluation.sampled": "false"})
    spec = make_world("pursuit", config.evaluation_world, 1, seed=0).spec
    sides = []
    for role, name in enumerate(("greedy", "flee")):
        learned = [frozen(f"{role}{seed}", arrays_of(random_learner(config, spec, role, seed))) for seed in (1, 2)]
        sides.append([*learned, script(name)])
    return make_ground(config, spec, {}, act_seed=3), *sides


@pytest.mark.parametrize("core", ["none", "gru"])
def test_leaving_ended_duels_behind_changes_no_duel(core: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ground, first, second = field(core)
    pairs = [(0, 0), (2, 0), (2, 1), (1, 2), (2, 2)]
    keys = evaluation_keys(7, 1, DUELS)
    sizes: list[int] = []
    real = matches.make_world

    def counted(name, settings, lanes, **more):  # type: ignore[no-untyped-def]
        sizes.append(lanes)
        return real(name, settings, lanes, **more)

    monkeypatch.setattr(matches, "make_world", counted)
    narrowed = play_matches(ground, first, second, pairs, keys)
    assert len(sizes) > 1 and sizes[0] == len(pairs) * DUELS and sizes[-1] <= sizes[0] // 2
    monkeypatch.setattr(matches, "FEW_LANES", 10**9)
    whole = play_matches(ground, first, second, pairs, keys)
    for small, large in zip(narrowed, whole, strict=True):
        assert len(small) == DUELS and 0.0 < small["length"].mean() < 80.0
        for name in large.columns:
            assert np.array_equal(small[name], large[name]), name
