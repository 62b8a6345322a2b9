"""The best-response test: how much a challenger of each role gains against the frozen pair, and whether to believe it.

The gap is the larger gain of the two roles. A narrow one counts only if the challengers learned as long as the
incumbents they challenge and are at least as good; with `power`, also if they find what was planted for them and learn
to beat scripts from scratch. A wide one needs no such proof; where only the verdict is wanted, it ends the test.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from holdfast.config.sections import Config
from holdfast.kit.intervals import newcombe, wilson
from holdfast.selfplay.arena import below
from holdfast.selfplay.book import Book
from holdfast.selfplay.cast import Player
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.matches import Arrays, Contender
from holdfast.selfplay.power import SLACK, planted, scratch_against_script
from holdfast.selfplay.response import CHALLENGER, Found, Gain, Setting, challenge, measure, nothing
from holdfast.selfplay.rota import FIRST, SECOND, other
from holdfast.worlds.api import WorldSpec

FROZEN = Player("newest", "frozen")
TellGain = Callable[[str, Gain], None]


def forgotten(found: Found) -> None:
    """Only what a challenger won is kept."""


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
    note: Callable[[Found], None] = forgotten  # given every challenger that has learned

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


def certify(
    case: Case, roles: tuple[int, ...] = (FIRST, SECOND), power: bool = False, tell: TellGain = lambda who, gain: None
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


def _side(case: Case, role: int, now: tuple[int, int], power: bool, tell: TellGain) -> dict[str, Any]:
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
            found.append(challenge(rated, start, steps, 101 + role + 10 * number, say))
            case.note(found[-1])
            best = max(found, key=lambda one: one.wins)
            gap = best.wins / best.duels - own_now[0] / own_now[1]
    low, high = newcombe((best.wins, best.duels), own_now)
    checks: dict[str, Any] = {
        "as good as the incumbent": gap >= -SLACK,
        "learned as long as the incumbent": all(one.response.steps >= case.trained[role] for one in found),
    }
    facts: dict[str, Any] = {}
    if power and not case.is_over(gap):
        facts["planted"] = planted(setting, case.pair, steps, partial(tell, f"{name}, planted"))
        facts["scripts"] = scratch_against_script(setting, steps, partial(tell, f"{name}, script"))
        checks |= {facts["planted"]["check"]: facts["planted"]["found"], "beats a script": facts["scripts"]["passed"]}
    return {
        "gap": gap,
        "low": low,
        "high": high,
        "incumbent": own_now[0] / own_now[1],
        "challengers": {one.response.start: _facts(one) for one in found},
        "trained_steps": case.trained[role],
        "power": {"passed": all(checks.values()), "full": power, "checks": checks, **facts},
    }


def _facts(found: Found) -> dict[str, Any]:
    return {
        "rate": found.wins / found.duels,
        "interval": wilson(found.wins, found.duels),
        "steps": found.response.steps,
        "history": [gain._asdict() for gain in found.response.history],
    }
