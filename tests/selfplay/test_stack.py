"""Frozen players: one batched pass says what each policy says alone, and nobody changes within an episode."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from holdfast.config.sections import LearnerConfig, PolicyConfig
from holdfast.games.pursuit.world.pursuit import Pursuit
from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.learner.learner import Learner
from holdfast.rollout.evaluate import evaluation_keys
from holdfast.selfplay.arena import make_arena
from holdfast.selfplay.cast import Cast, Player
from holdfast.selfplay.matches import Ground, frozen, play_matches, script, wins_of_first
from holdfast.selfplay.stack import Stack
from holdfast.selfplay.vault import arrays_of
from holdfast.worlds.api import Role
from holdfast.worlds.spaces import Continuous, Discrete, Observations
from tests.two_roles import Pennies, PennySettings

SIGHT = Observations((5,), np.dtype(np.float32), -1.0, 1.0)
ROLES = {
    "discrete": Role("one", 1, SIGHT, Discrete(3)),
    "judging": Role("one", 1, SIGHT._replace(judging=2), Discrete(3)),
    "continuous": Role("one", 1, SIGHT, Continuous((-1.0, -1.0), (1.0, 1.0))),
}


def learner(role: Role, seed: int, core: str = "none", engine: str = "torch") -> Learner:
    policy = PolicyConfig(hidden=(8, 6), core=core, core_size=4)  # type: ignore[arg-type]
    made = Learner(role, policy, LearnerConfig(engine=engine), torch.Generator().manual_seed(seed))  # type: ignore[arg-type]
    if made.observations is not None:
        made.observations.update(torch.randn(50, role.observations.size) * (seed + 1) + seed)
    with torch.no_grad():
        made.policy.action_layer.weight.normal_()
    return made


@pytest.mark.parametrize(
    ("kind", "core", "engine"),
    [
        *((kind, core, "torch") for kind in ROLES for core in ("none", "gru")),
        ("discrete", "none", "fused"),
        ("judging", "none", "fused"),
    ],
)
def test_one_pass_for_all_says_what_each_says_alone(kind: str, core: str, engine: str) -> None:
    role = ROLES[kind]
    members = [learner(role, seed, core) for seed in range(3)]
    stack = Stack(lambda: learner(role, 9, core, engine), 4)
    for place, member in enumerate(members):
        stack.put(place, arrays_of(member))
    places = np.array([2, 0, 1, 1, 2, 2, 0] * 33, np.int32)
    raw, starts = torch.randn(231, 5), torch.zeros(231, dtype=torch.bool)
    hidden = torch.randn(231, members[0].policy.core_size)
    before = stack.forwards
    answer = stack.deal(places).ask(raw, hidden, starts)
    assert stack.forwards == before + 1
    for place, member in enumerate(members):
        rows = torch.from_numpy(places == place)
        alone = member.ask(member.normalized(raw[rows]), hidden[rows], starts[rows])
        torch.testing.assert_close(answer.actions[rows], alone.actions)
        torch.testing.assert_close(answer.hidden[rows], alone.hidden)
        torch.testing.assert_close(answer.extra[rows], member.policy.extra.expand(int(rows.sum()), -1))


def pennies(lanes: int) -> Pennies:
    world = Pennies(PennySettings(), lanes, seed=1)
    world.reset()
    return world


def always(role: Role, coin: int, seed: int) -> Learner:
    """A policy that all but surely shows one side."""
    made = learner(role, seed)
    with torch.no_grad():
        made.policy.action_layer.weight.zero_()
        made.policy.action_layer.bias.copy_(torch.tensor([30.0, 0.0] if coin == 0 else [0.0, 30.0]))
    return made


def test_a_new_opponent_waits_for_the_end_of_the_episode() -> None:
    world = pennies(4)
    hider = world.spec.roles[1]
    cast = Cast(world, lambda: learner(hider, 0))
    heads, tails = Player("newest", "heads"), Player("newest", "tails")
    (first,) = cast.seat([(heads, arrays_of(always(hider, 0, 1)))])
    assert first is not None
    cast.promise(np.arange(4), first)
    cast.begin(np.arange(4))
    generator = torch.Generator().manual_seed(1)
    (second,) = cast.seat([(tails, arrays_of(always(hider, 1, 2)))])
    assert second is not None and second != first
    cast.promise(np.arange(4), second)
    assert (cast.act(generator) == 0).all()
    cast.begin(np.array([1, 3]))
    assert (cast.act(generator)[:, 0] == np.array([0, 1, 0, 1])).all()
    assert cast.hashes() == {"heads", "tails"}
    cast.begin(np.arange(4))
    cast.drop_unused()
    assert cast.hashes() == {"tails"}


def test_places_are_given_again_only_when_nobody_needs_them() -> None:
    world = pennies(64)
    hider = world.spec.roles[1]
    cast = Cast(world, lambda: learner(hider, 0))
    arrays = arrays_of(learner(hider, 1))
    places = cast.seat([(Player("newest", str(number)), arrays) for number in range(32)])
    assert sorted(place for place in places if place is not None) == list(range(32))
    for lane in range(32):
        cast.promise(np.array([lane]), places[lane] or 0)
    cast.begin(np.arange(32))
    assert cast.seat([(Player("newest", "late"), arrays)]) == [None]
    cast.promise(np.array([5]), 0)
    cast.begin(np.array([5]))
    assert cast.seat([(Player("newest", "late"), arrays)]) == [places[5]]


def test_an_arena_counts_wins_by_opponent_and_steps_like_a_world_of_one_role() -> None:
    world = pennies(8)
    seeker, hider = world.spec.roles
    arena = make_arena(world, always(seeker, 0, 1), lambda: learner(hider, 0), 6, torch.Generator().manual_seed(1))
    assert arena.cast is not None
    arena.share_out(
        [
            (Player("newest", "heads"), 0.5, arrays_of(always(hider, 0, 1))),
            (Player("earlier", "tails"), 0.5, arrays_of(always(hider, 1, 2))),
        ]
    )
    arena.restart()
    for _ in range(6):
        arena.world.step({"seeker": np.zeros((8, 1), np.int64)})
    outcome = arena.take_outcomes()
    names = np.array([arena.cast.player(place).name for place in outcome.place])
    assert len(names) == 8 and (outcome.won == (names == "heads")).all() and (names == "heads").sum() == 4
    assert len(arena.take_outcomes().won) == 0


def test_first_episodes_end_one_after_the_other_and_do_not_count() -> None:
    world = Pursuit(PursuitSettings(obs="flat", max_steps=16), 16, seed=3)
    pursuer, evader = world.spec.roles
    arena = make_arena(world, learner(pursuer, 0), lambda: learner(evader, 0), 16, torch.Generator().manual_seed(1))
    arena.share_out([(Player("script", "flee"), 1.0, None)])
    default = np.array([parameter.default for parameter in world.spec.level])
    arena.set_levels(default, None, 0.0)
    arena.restart()
    still = {"pursuer": np.full((16, 1, 2), (-1.0, 0.0), np.float32)}
    ended = []
    for _ in range(32):
        arena.world.step(still)
        ended.append(int(world.truncated.sum() + world.terminated.sum()))
    assert ended == [1] * 32  # 16 lanes at 16 different moments, now and ever after
    assert len(arena.take_outcomes().won) == 17  # one lane's first episode was a whole one


def test_matches_pair_players_and_scripts_on_the_same_keys() -> None:
    seeker, hider = pennies(1).spec.roles
    ground = Ground(
        "tests.two_roles:Pennies",
        PennySettings(),
        {},
        1,
        (lambda: learner(seeker, 0), lambda: learner(hider, 0)),
        True,
        3,
    )
    first = [frozen("h", arrays_of(always(seeker, 0, 1))), script("random")]
    second = [frozen("h", arrays_of(always(hider, 0, 1))), frozen("t", arrays_of(always(hider, 1, 1)))]
    keys = evaluation_keys(5, 0, 20)
    tables = play_matches(ground, first, second, [(0, 0), (0, 1), (1, 0)], keys)
    wins = [wins_of_first(table, ("seeker", "hider")).mean() for table in tables]
    assert wins[:2] == [1.0, 0.0] and 0.0 < wins[2] < 1.0
    assert all((table["key"] == keys).all() for table in tables)
