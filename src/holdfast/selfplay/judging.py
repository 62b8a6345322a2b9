"""An evaluation of the pair as it is: duels on fixed seeds until questions are answered, a panel of scripts, probes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.config.sections import Config
from holdfast.kit.intervals import wilson
from holdfast.rollout.evaluate import DURING_RUN, evaluation_keys
from holdfast.selfplay.cast import Player, scripts_of
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.levels import questions as level_questions
from holdfast.selfplay.matches import Arrays, Contender, Ground, frozen, play_matches, script, wins_of_first
from holdfast.selfplay.probes import Probe, probe
from holdfast.selfplay.role_learner import spare_maker
from holdfast.selfplay.sequential import Evidence, Question, ask, looks_up_to
from holdfast.worlds.api import Episodes, World, WorldSpec
from holdfast.worlds.registry import make_world

BALANCE = Question("balance", "balance", 0.05)
PANEL_DUELS = 128
CHOICE_DUELS = 32  # of a candidate with each opponent, when an earlier policy is chosen
FEW = 4  # this part of them comes first
IDLE = ("still",)
KEYS = ("lane", "key", "terminated")  # what a table of episodes says beside the world's own columns


@dataclass(frozen=True)
class Judgement:
    """What one evaluation found; rates are shares of wins of the first role."""

    level: int
    hashes: tuple[str, str]
    wins: int
    duels: int
    answers: dict[str, Evidence]
    panel: dict[str, tuple[int, int]]  # wins of the first role and duels, by `first-second` with one side scripted
    probes: list[Probe]
    episodes: Episodes

    @property
    def rate(self) -> float:
        return self.wins / self.duels

    @property
    def gap(self) -> float:
        """How far the two shares of wins are apart; says nothing about what a better opponent would do."""
        return abs(2.0 * self.rate - 1.0)

    @property
    def row(self) -> dict[str, float | int]:
        """What is logged of it."""
        low, high = wilson(self.wins, self.duels)
        columns = [name for name in self.episodes.columns if name not in KEYS]
        return {
            "evaluation.score": self.rate,
            "evaluation.score_low": low,
            "evaluation.score_high": high,
            "evaluation.score_worst": 0.0 if self.wins < self.duels else 1.0,
            "evaluation.gap": self.gap,
            **{f"evaluation.{name}": float(self.episodes[name].mean()) for name in columns},
        }

    def panel_rates(self) -> list[float]:
        return [wins / duels for wins, duels in self.panel.values()]

    def facts(self) -> dict[str, Any]:
        """For the events."""
        low, high = wilson(self.wins, self.duels)
        return {
            "level": self.level,
            "policies": list(self.hashes),
            "wins": self.wins,
            "duels": self.duels,
            "rate": self.rate,
            "low": low,
            "high": high,
            "gap": self.gap,
            "tests": {name: answer._asdict() for name, answer in self.answers.items()},
            "panel": {name: wins / duels for name, (wins, duels) in self.panel.items()},
            "probes": {f"{found.role}_{found.name}": found.value for found in self.probes},
        }


def make_ground(config: Config, spec: WorldSpec, level: dict[str, float], act_seed: int) -> Ground:
    return Ground(
        world_name=config.world_name,
        settings=config.evaluation_world,
        level=level,
        threads=config.rollout.threads,
        make=(spare_maker(config, spec.roles[0]), spare_maker(config, spec.roles[1])),
        sampled=config.evaluation.sampled,
        act_seed=act_seed,
    )


def panel_names(world: World) -> tuple[list[str], list[str]]:
    """Scripts of each role that are worth playing against."""
    first, second = (scripts_of(world, role.name) for role in world.spec.roles)
    return [name for name in first if name not in IDLE], [name for name in second if name not in IDLE]


def questions_of(config: Config) -> list[Question]:
    asked = level_questions(config.levels) if config.levels.kind != "none" else []
    return [*asked, BALANCE]


def judge_pair(
    config: Config, ladder: Ladder, level: int, pair: tuple[Arrays, Arrays], names: tuple[str, str]
) -> Judgement:
    """Play the pair at a level until all questions are answered or the largest look is reached."""
    spec = ladder.spec
    roles = (spec.roles[0].name, spec.roles[1].name)
    table = ladder.table(level, ladder.final_sight)
    ground = make_ground(config, spec, table, config.evaluation.seed % 2**31)
    first, second = (Contender(Player("newest", name), arrays) for name, arrays in zip(names, pair, strict=True))
    answers, episodes, wins = _play_until_told(config, ground, first, second, roles)
    return Judgement(
        level=level,
        hashes=names,
        wins=wins,
        duels=len(episodes),
        answers=answers,
        panel=play_panel(config, ground, first, second, roles),
        probes=probe(episodes, roles),
        episodes=episodes,
    )


def _play_until_told(
    config: Config, ground: Ground, first: Contender, second: Contender, roles: tuple[str, str]
) -> tuple[dict[str, Evidence], Episodes, int]:
    most, asked = config.evaluation.episodes, questions_of(config)
    looks = looks_up_to(most) if config.duel.test == "sequential" else (most,)
    keys = evaluation_keys(config.evaluation.seed, DURING_RUN, looks[-1])
    tables: list[Episodes] = []
    wins: list[int] = []
    answers: dict[str, Evidence] = {}
    done = 0
    for number, look in enumerate(looks):
        part = ground._replace(act_seed=ground.act_seed + number)
        tables += play_matches(part, [first], [second], [(0, 0)], keys[done:look])
        done = look
        wins.append((wins[-1] if wins else 0) + int(wins_of_first(tables[-1], roles).sum()))
        answers = ask(asked, wins, looks[: number + 1])
        if all(answer.verdict != "undecided" for answer in answers.values()):
            break
    if config.duel.test == "point":
        answers = {question.name: question.by_point(wins[-1], done) for question in asked}
    return answers, Episodes.joined(tables), wins[-1]


def wins_at(config: Config, ladder: Ladder, level: int, pair: tuple[Arrays, Arrays]) -> tuple[int, int]:
    """Wins of the first role at another level, and duels: what a pair still can that it is no longer trained for."""
    keys = evaluation_keys(config.evaluation.seed, DURING_RUN, min(PANEL_DUELS, config.evaluation.episodes))
    return wins_of_each(config, ladder, level, pair[:1], pair[1], keys)[0], len(keys)


def wins_of_each(
    config: Config, ladder: Ladder, level: int, firsts: Sequence[Arrays], second: Arrays, keys: np.ndarray
) -> list[int]:
    """Duels on these keys that each policy of the first role wins against one of the second."""
    roles = (ladder.spec.roles[0].name, ladder.spec.roles[1].name)
    ground = make_ground(config, ladder.spec, ladder.table(level, ladder.final_sight), config.evaluation.seed % 2**31)
    players = [frozen(str(number), arrays) for number, arrays in enumerate(firsts)]
    rival, pairs = frozen("second", second), [(number, 0) for number in range(len(players))]
    return [int(wins_of_first(played, roles).sum()) for played in play_matches(ground, players, [rival], pairs, keys)]


def play_panel(
    config: Config, ground: Ground, first: Contender, second: Contender, roles: tuple[str, str]
) -> dict[str, tuple[int, int]]:
    """Each learned role against every script of the other, on the first of the evaluation's seeds."""
    world = make_world(config.world_name, config.evaluation_world, 1, seed=0)
    firsts, seconds = panel_names(world)
    world.close()
    duels = min(PANEL_DUELS, config.evaluation.episodes)
    keys = evaluation_keys(config.evaluation.seed, DURING_RUN, duels)
    left, right = [first, *map(script, firsts)], [second, *map(script, seconds)]
    pairs = [(0, n) for n in range(1, len(right))] + [(n, 0) for n in range(1, len(left))]
    tables = play_matches(ground, left, right, pairs, keys)
    names = [f"learned-{left_or_right}" for left_or_right in seconds] + [f"{name}-learned" for name in firsts]
    wins = [int(wins_of_first(table, roles).sum()) for table in tables]
    return {name: (won, duels) for name, won in zip(names, wins, strict=True)}


def best_of(
    config: Config,
    ladder: Ladder,
    level: int,
    candidates: Sequence[tuple[str, Arrays]],
    rivals: Sequence[tuple[str, Arrays]],
) -> tuple[int, list[float]]:
    """Which candidate for the second role does best against the scripts and some rivals: by the lower end of the
    interval of its wins, the last of equals; all the lower ends. After the first few duels whoever is clearly behind
    plays no more."""
    spec = ladder.spec
    roles = (spec.roles[0].name, spec.roles[1].name)
    ground = make_ground(config, spec, ladder.table(level, ladder.final_sight), config.evaluation.seed % 2**31)
    world = make_world(config.world_name, config.evaluation_world, 1, seed=0)
    firsts, _ = panel_names(world)
    world.close()
    left = [*map(script, firsts), *(Contender(Player("earlier", name), arrays) for name, arrays in rivals)]
    right = [Contender(Player("earlier", name), arrays) for name, arrays in candidates]
    keys = evaluation_keys(config.evaluation.seed, DURING_RUN, min(CHOICE_DUELS, config.evaluation.episodes))
    won, played = np.zeros(len(right), np.int64), np.zeros(len(right), np.int64)
    in_race = list(range(len(right)))
    few = max(1, len(keys) // FEW)
    for some in filter(len, (keys[:few], keys[few:])):
        pairs = [(rival, number) for number in in_race for rival in range(len(left))]
        for (_, number), table in zip(pairs, play_matches(ground, left, right, pairs, some), strict=True):
            won[number] += len(some) - int(wins_of_first(table, roles).sum())
            played[number] += len(some)
        ends = [wilson(int(mine), int(of)) for mine, of in zip(won, played, strict=True)]
        in_race = [number for number in in_race if ends[number][1] >= max(low for low, _ in ends)]
    lows = [low for low, _ in ends]
    return max(in_race, key=lambda number: (lows[number], number)), lows
