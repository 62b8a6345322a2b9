"""The best-response test: how much a challenger of each role gains against the frozen pair, and whether to believe it.

The gap is the larger gain of the two roles. A narrow one counts only if the challengers learned as long as the
incumbents they challenge and are at least as good; with `power`, also if they find a planted blind spot and learn to
beat scripts from scratch. A wide one needs no such proof; where only the verdict is wanted, it ends the test.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from holdfast.config import Config
from holdfast.intervals import newcombe, wilson
from holdfast.selfplay.arena import below
from holdfast.selfplay.blindness import Blind
from holdfast.selfplay.book import Book
from holdfast.selfplay.cast import Player
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.matches import Arrays, Contender, script
from holdfast.selfplay.response import CHALLENGER, Gain, Response, Setting, measure, nothing, respond
from holdfast.selfplay.rota import FIRST, SECOND, other
from holdfast.worlds.api import WorldSpec

SLACK = 0.02  # a challenger this much behind the incumbent still shows that it can learn
BLIND_START = 30.0  # degrees
BLIND_WIDTHS = tuple(range(120, 0, -10))  # narrowed until the incumbent gains little: the widest that fits the rule
BLIND_FREE, BLIND_FOUND = 0.15, 0.10
ROOM_FOUND = 0.5  # of the duels that are left to win, where those are too few for the gain above
SCRIPTED = {FIRST: ("flee", 0.90), SECOND: ("greedy", 0.80)}
FROZEN = Player("newest", "frozen")
Tell = Callable[[str, Gain], None]
TellGain = Callable[[Gain], None]


class Case(NamedTuple):
    """A frozen pair that is put to the test."""

    config: Config
    ladder: Ladder
    level: int
    pair: tuple[Arrays, Arrays]
    trained: tuple[int, int]  # agent-steps both roles have learned from
    steps: int | None = None  # of each challenger, where somebody asked for a number
    heed: Callable[[], None] = nothing  # called in every iteration; may raise to give up
    until_failed: bool = False  # the first gap that is too wide ends the test

    def is_over(self, gap: float) -> bool:
        return self.until_failed and gap > self.config.response.pass_gap

    def budget(self, role: int) -> int:
        """A challenger learns at least as long as the role it challenges for did."""
        return max(self.config.response.steps, self.trained[role]) if self.steps is None else self.steps


def case_of(config: Config, spec: WorldSpec, book: Book, arrays: Arrays, steps: int | None = None) -> Case:
    """The pair of a checkpoint."""
    first, second = (below(arrays, f"{role.name}/") for role in spec.roles)
    trained = (book.sides[FIRST].own_steps, book.sides[SECOND].own_steps)
    return Case(config, Ladder(config, spec), book.standing.level, (first, second), trained, steps)


class Found(NamedTuple):
    """One challenger, measured on duels it was not chosen by."""

    response: Response
    wins: int
    duels: int


def certify(
    case: Case, roles: tuple[int, ...] = (FIRST, SECOND), power: bool = False, tell: Tell = lambda who, gain: None
) -> dict[str, Any]:
    """Everything about the test as plain values; `verdict` is passed, failed or inconclusive."""
    won, duels = play_pair(case)
    sides: dict[str, dict[str, Any]] = {}
    for role in roles:
        side = sides[case.ladder.spec.roles[role].name] = _side(case, role, (won, duels), power, tell)
        if case.is_over(side["gap"]):
            break
    gap = max(0.0, *(side["gap"] for side in sides.values()))
    believed = all(side["power"]["passed"] for side in sides.values())
    passed = gap <= case.config.response.pass_gap
    return {
        "verdict": "failed" if not passed else "passed" if believed else "inconclusive",
        "gap": gap,
        "gap_at_most": max(0.0, *(side["high"] for side in sides.values())),
        "pass_gap": case.config.response.pass_gap,
        "level": case.level,
        "rate": won / duels,
        "interval": wilson(won, duels),
        "duels": duels,
        "sides": sides,
    }


def play_pair(case: Case) -> tuple[int, int]:
    """Wins of the first role in the frozen pair, on the seeds of the measurement."""
    setting = Setting(case.config, case.ladder, case.level, FIRST, Contender(FROZEN, case.pair[SECOND]))
    return measure(setting, Contender(CHALLENGER, case.pair[FIRST]), case.config.response.duels)


def _side(case: Case, role: int, now: tuple[int, int], power: bool, tell: Tell) -> dict[str, Any]:
    rival = Contender(FROZEN, case.pair[other(role)])
    setting = Setting(case.config, case.ladder, case.level, role, rival, heed=case.heed)
    steps, name = case.budget(role), case.ladder.spec.roles[role].name
    starts: tuple[tuple[str, Arrays | None], ...] = (("incumbent", case.pair[role]), ("scratch", None))
    own_now = now if role == FIRST else (now[1] - now[0], now[1])
    limit = own_now[0] / own_now[1] + case.config.response.pass_gap
    rated = setting._replace(enough=limit) if case.until_failed else setting
    found: list[Found] = []
    gap = 0.0
    for number, (word, start) in enumerate(starts):
        if not case.is_over(gap):
            say = partial(tell, f"{name} from {word}")
            found.append(_challenge(rated, start, steps, 101 + role + 10 * number, say))
            best = max(found, key=lambda one: one.wins)
            gap = best.wins / best.duels - own_now[0] / own_now[1]
    low, high = newcombe((best.wins, best.duels), own_now)
    checks: dict[str, Any] = {
        "as good as the incumbent": gap >= -SLACK,
        "learned as long as the incumbent": all(one.response.steps >= case.trained[role] for one in found),
    }
    facts: dict[str, Any] = {}
    if power and not case.is_over(gap):
        facts["blind_spot"] = blind_spot(setting, case.pair, steps, partial(tell, f"{name}, blind spot"))
        facts["scripts"] = scratch_against_script(setting, steps, partial(tell, f"{name}, script"))
        checks |= {"finds a blind spot": facts["blind_spot"]["found"], "beats a script": facts["scripts"]["passed"]}
    return {
        "gap": gap,
        "low": low,
        "high": high,
        "incumbent": own_now[0] / own_now[1],
        "challengers": {one.response.start: _facts(one) for one in found},
        "trained_steps": case.trained[role],
        "power": {"passed": all(checks.values()), "full": power, "checks": checks, **facts},
    }


def _challenge(setting: Setting, start: Arrays | None, steps: int, seed: int, tell: TellGain) -> Found:
    response = respond(setting, start, steps, seed, tell)
    challenger = Contender(CHALLENGER, response.arrays)
    return Found(response, *measure(setting, challenger, setting.config.response.duels))


def _facts(found: Found) -> dict[str, Any]:
    return {
        "rate": found.wins / found.duels,
        "interval": wilson(found.wins, found.duels),
        "steps": found.response.steps,
        "history": [gain._asdict() for gain in found.response.history],
    }


def blind_spot(setting: Setting, pair: tuple[Arrays, Arrays], steps: int, tell: TellGain) -> dict[str, Any]:
    """Plant a hole the incumbent hardly profits from, and see whether the same budget finds it."""
    duels = min(2000, setting.config.response.duels)
    incumbent = Contender(CHALLENGER, pair[setting.role])
    plain, tried = measure(setting, incumbent, duels), {}

    def gained(width: int) -> float:
        tried[width] = measure(_blinded(setting, width), incumbent, duels)
        return tried[width][0] / duels - plain[0] / duels

    width = planted_width(gained)
    free = tried[width]
    found = _challenge(_blinded(setting, width), pair[setting.role], steps, 301 + setting.role, tell)
    low, high = newcombe((found.wins, found.duels), free)
    gain = found.wins / found.duels - free[0] / free[1]
    wanted = wanted_gain(free[0] / free[1])
    return {
        "width_deg": width,
        "wanted": wanted,
        "incumbent": free[0] / free[1],
        "challenger": found.wins / found.duels,
        "gain": gain,
        "low": low,
        "high": high,
        "found": gain >= wanted and low > wanted / 2.0,
    }


def planted_width(gained: Callable[[int], float]) -> int:
    """The widest sector by which the incumbent gains little; the narrowest there is if it gains by every one."""
    return next((width for width in BLIND_WIDTHS if gained(width) <= BLIND_FREE), BLIND_WIDTHS[-1])


def _blinded(setting: Setting, width: int) -> Setting:
    return setting._replace(blind=Blind(other(setting.role), BLIND_START, BLIND_START + width))


def wanted_gain(rate: float) -> float:
    """What a challenger must gain by a blind spot over a role that wins this share with it: nobody can gain 0.10 where
    0.95 are won already, and a test that no learner can pass says nothing about those who learn."""
    return min(BLIND_FOUND, ROOM_FOUND * (1.0 - rate))


def scratch_against_script(setting: Setting, steps: int, tell: TellGain) -> dict[str, Any]:
    """Can a learner from scratch beat a script that is known to be beatable?"""
    name, wanted = SCRIPTED[setting.role]
    scripted = setting._replace(rival=script(name))
    found = _challenge(scripted, None, steps, 501 + setting.role, tell)
    rate = found.wins / found.duels
    return {"script": name, "rate": rate, "wanted": wanted, "passed": rate >= wanted}
