"""A challenger: a learner that does nothing but learn to beat one frozen opponent, under the run's own settings.

How much it gains over the incumbent is a lower bound of how exploitable the opponent is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from holdfast.config.sections import Config, LearnerConfig
from holdfast.kit.intervals import wilson
from holdfast.kit.rng import derive
from holdfast.kit.timing import Clock
from holdfast.learner.learner import Learner
from holdfast.learner.schedules import pace
from holdfast.learner.update import update
from holdfast.rollout.collect import collect
from holdfast.rollout.evaluate import evaluation_keys
from holdfast.selfplay.arena import Arena, make_arena
from holdfast.selfplay.blindness import Blind, blind_world
from holdfast.selfplay.cast import Player
from holdfast.selfplay.health import LOG_STD_FLOOR
from holdfast.selfplay.judging import make_ground
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.matches import Arrays, Contender, play_matches, wins_of_first
from holdfast.selfplay.role_learner import spare_maker
from holdfast.selfplay.rota import FIRST, other
from holdfast.selfplay.vault import arrays_of, put_into
from holdfast.state import ACTIONS, SHUFFLE, WEIGHTS, torch_generator
from holdfast.worlds.registry import make_world

SELECTION, MEASURE = 3, 4  # blocks of evaluation seeds
CHALLENGER = Player("challenger", "challenger")
LOOKS = 12  # selections over the budget
STILL_GAINING = 0.01  # in the last quarter: go on
LONGEST = 2.0  # times the budget
SURE = 4.0  # deviations by which a challenger must be beyond what is enough


def nothing() -> None:
    """Nobody asks to stop."""


class Gain(NamedTuple):
    """A challenger at one moment."""

    steps: int
    rate: float  # of its own wins, on selection duels


@dataclass(frozen=True)
class Response:
    """A challenger that has learned: the state that did best on selection duels, and how it got there."""

    role: int
    start: str  # incumbent or scratch
    arrays: dict[str, np.ndarray]
    history: list[Gain]
    steps: int


class Setting(NamedTuple):
    """Where a challenger learns and is measured."""

    config: Config
    ladder: Ladder
    level: int
    role: int  # of the challenger
    rival: Contender
    blind: Blind | None = None  # what the rival does not react to
    heed: Callable[[], None] = nothing  # called in every iteration; may raise to give up
    enough: float = 1.0  # a share of wins above which it need not learn on


def respond(
    setting: Setting, start: Arrays | None, steps: int, seed: int, tell: Callable[[Gain], None] = lambda gain: None
) -> Response:
    """Learn for so many agent-steps, longer while it still gains; from given weights, or from scratch.

    Once it is beyond `setting.enough` by more than chance, it stops.
    """
    arena = _make_arena(setting, start, seed)
    per_rollout = arena.batch.steps * arena.batch.rows
    budget = max(1, -(-steps // per_rollout))
    actions, shuffle, clock = torch_generator(seed, ACTIONS), torch_generator(seed, SHUFFLE), Clock()
    every = max(1, budget // LOOKS)
    history = [_look(setting, arena.learner, 0)]
    best, kept = history[0], _copy(arena.learner)
    done = 0
    try:
        while done < budget or (_still_gains(history) and done < LONGEST * budget):
            setting.heed()
            name = arena.role
            collect(arena.world, {name: arena.learner}, {name: arena.batch}, arena.memory, actions, clock)
            arena.take_outcomes()
            now = pace(arena.learner.config, min(done, int(0.9 * budget)), budget)
            update(arena.learner, arena.batch, now, shuffle)
            if arena.learner.policy.extra.numel():
                with torch.no_grad():
                    arena.learner.policy.extra.clamp_(min=LOG_STD_FLOOR)
            done += 1
            if done % every == 0:
                history.append(_look(setting, arena.learner, done * per_rollout))
                tell(history[-1])
                if history[-1].rate >= best.rate:
                    best, kept = history[-1], _copy(arena.learner)
                if _is_enough(setting, best):
                    break
    finally:
        arena.world.close()
    return Response(setting.role, "scratch" if start is None else "incumbent", kept, history, done * per_rollout)


class Found(NamedTuple):
    """One challenger, measured on duels it was not chosen by."""

    response: Response
    wins: int
    duels: int


def challenge(setting: Setting, start: Arrays | None, steps: int, seed: int, tell: Callable[[Gain], None]) -> Found:
    response = respond(setting, start, steps, seed, tell)
    return Found(response, *measure(setting, Contender(CHALLENGER, response.arrays), setting.config.response.duels))


def _still_gains(history: list[Gain]) -> bool:
    quarter = max(1, len(history) // 4)
    return history[-1].rate - max(gain.rate for gain in history[:-quarter]) > STILL_GAINING


def _is_enough(setting: Setting, best: Gain) -> bool:
    """Certain enough that the measurement on other duels will say the same."""
    duels = _selection_duels(setting)
    return wilson(round(best.rate * duels), duels, SURE)[0] > setting.enough


def _selection_duels(setting: Setting) -> int:
    return min(512, setting.config.response.duels)


def _copy(learner: Learner) -> dict[str, np.ndarray]:
    return {name: np.array(array) for name, array in arrays_of(learner).items()}


def _make_arena(setting: Setting, start: Arrays | None, seed: int) -> Arena:
    config, spec = setting.config, setting.ladder.spec
    own = int(derive(np.uint64(seed), np.uint64(0x9E5)) >> np.uint64(1))
    world = make_world(config.world_name, config.world, config.rollout.lanes, own, config.rollout.threads)
    role = spec.roles[setting.role]
    settings = pointed(config)
    learner = Learner(role, config.policy, settings, torch_generator(seed, WEIGHTS), config.rollout.threads)
    if start is not None:
        put_into(learner, start)
    world.reset()
    rivals = torch.Generator().manual_seed(own % 2**31)
    make = spare_maker(config, spec.roles[other(setting.role)])
    arena = make_arena(blind_world(world, setting.blind), learner, make, config.rollout.steps, rivals)
    sight = setting.ladder.final_sight
    arena.share_out([(setting.rival.player, 1.0, setting.rival.arrays)])
    arena.set_levels(setting.ladder.row(setting.level, sight), None, 0.0)
    arena.restart()
    return arena


def pointed(config: Config) -> LearnerConfig:
    """The run's own way of learning, but with little reward for being undecided and a rate that falls once.

    A pair may learn under much of it so as not to be read by the other; a challenger that does finds far less.
    """
    most, learner = config.response.entropy, config.learner
    final = None if learner.entropy_final is None else min(learner.entropy_final, most)
    return dataclasses.replace(learner, entropy=min(learner.entropy, most), entropy_final=final, lr_restart=0.0)


def _look(setting: Setting, learner: Learner, steps: int) -> Gain:
    wins, total = measure(setting, Contender(CHALLENGER, _copy(learner)), _selection_duels(setting), SELECTION)
    return Gain(steps, wins / total)


def measure(setting: Setting, challenger: Contender, duels: int, block: int = MEASURE) -> tuple[int, int]:
    """Wins of the challenger's role against the rival, on seeds of a block."""
    config, spec = setting.config, setting.ladder.spec
    table = setting.ladder.table(setting.level, setting.ladder.final_sight)
    ground = make_ground(config, spec, table, config.evaluation.seed % 2**31 + 7 * block)
    ground = ground._replace(blind=setting.blind)
    pair = ([challenger], [setting.rival]) if setting.role == FIRST else ([setting.rival], [challenger])
    keys = evaluation_keys(config.evaluation.seed, block, duels)
    roles = (spec.roles[0].name, spec.roles[1].name)
    won = 0
    for part in np.array_split(keys, -(-duels // 2048)):
        (table_,) = play_matches(ground, *pair, [(0, 0)], part)
        first = wins_of_first(table_, roles)
        won += int(first.sum() if setting.role == FIRST else (~first).sum())
    return won, duels
