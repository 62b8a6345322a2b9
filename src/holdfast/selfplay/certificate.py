"""The best-response test: how much a challenger of each role gains against the frozen pair, and whether to believe it.

The gap is the larger gain of the two roles. It counts only if the challengers are at least as good as the incumbents
they challenge; with `power`, also if they find a planted blind spot and learn to beat scripts from scratch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from holdfast.config import Config
from holdfast.intervals import newcombe, wilson
from holdfast.rollout.evaluate import evaluation_keys
from holdfast.selfplay.blindness import Blind
from holdfast.selfplay.cast import Player
from holdfast.selfplay.judging import make_ground
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.matches import Arrays, Contender, play_matches, script, wins_of_first
from holdfast.selfplay.response import CHALLENGER, MEASURE, Gain, Response, Setting, measure, respond
from holdfast.selfplay.rota import FIRST, SECOND, other

SLACK = 0.02  # a challenger this much behind the incumbent still shows that it can learn
BLIND_START, BLIND_WIDTHS = 30.0, (120.0, 60.0, 30.0, 15.0)  # degrees, narrowed until the incumbent gains little
BLIND_FREE, BLIND_FOUND, BLIND_SURE = 0.15, 0.10, 0.05
SCRIPTED = {FIRST: ("flee", 0.90), SECOND: ("greedy", 0.80)}
Tell = Callable[[str, Gain], None]


class Found(NamedTuple):
    """One challenger, measured on duels it was not chosen by."""

    response: Response
    wins: int
    duels: int


def certify(
    config: Config,
    ladder: Ladder,
    level: int,
    pair: tuple[Arrays, Arrays],
    trained: tuple[int, int],
    roles: tuple[int, ...] = (FIRST, SECOND),
    power: bool = False,
    tell: Tell = lambda who, gain: None,
) -> dict[str, Any]:
    """Everything about the test as plain values; `verdict` is passed, failed or inconclusive."""
    won, duels = play_pair(config, ladder, level, pair)
    sides = {}
    for role in roles:
        sides[ladder.spec.roles[role].name] = _side(
            config, ladder, level, pair, trained, role, (won, duels), power, tell
        )
    gap = max(0.0, *(side["gap"] for side in sides.values()))
    believed = all(side["power"]["passed"] for side in sides.values())
    passed = gap <= config.response.pass_gap
    return {
        "verdict": "inconclusive" if not believed else "passed" if passed else "failed",
        "gap": gap,
        "pass_gap": config.response.pass_gap,
        "level": level,
        "rate": won / duels,
        "interval": wilson(won, duels),
        "duels": duels,
        "sides": sides,
    }


def play_pair(config: Config, ladder: Ladder, level: int, pair: tuple[Arrays, Arrays]) -> tuple[int, int]:
    """Wins of the first role in the frozen pair, on the seeds of the measurement."""
    duels = config.response.duels
    table = ladder.table(level, ladder.final_sight)
    ground = make_ground(config, ladder.spec, table, config.evaluation.seed % 2**31 + 7 * MEASURE)
    first, second = (Contender(Player("newest", f"incumbent {n}"), arrays) for n, arrays in enumerate(pair))
    names = (ladder.spec.roles[0].name, ladder.spec.roles[1].name)
    keys, won = evaluation_keys(config.evaluation.seed, MEASURE, duels), 0
    for start in range(0, duels, 2048):
        (played,) = play_matches(ground, [first], [second], [(0, 0)], keys[start : start + 2048])
        won += int(wins_of_first(played, names).sum())
    return won, duels


def _side(
    config: Config,
    ladder: Ladder,
    level: int,
    pair: tuple[Arrays, Arrays],
    trained: tuple[int, int],
    role: int,
    now: tuple[int, int],
    power: bool,
    tell: Tell,
) -> dict[str, Any]:
    rival = Contender(Player("newest", "frozen"), pair[other(role)])
    setting = Setting(config, ladder, level, role, rival)
    steps = config.response.steps
    name = ladder.spec.roles[role].name
    starts: tuple[tuple[str, Arrays | None], ...] = (("incumbent", pair[role]), ("scratch", None))
    found = []
    for number, (word, start) in enumerate(starts):
        who = f"{name} from {word}"
        found.append(_challenge(setting, start, steps, 101 + role + 10 * number, partial(tell, who)))
    best = max(found, key=lambda one: one.wins)
    own_now = now if role == FIRST else (now[1] - now[0], now[1])
    low, high = newcombe((best.wins, best.duels), own_now)
    gap = best.wins / best.duels - own_now[0] / own_now[1]
    checks: dict[str, Any] = {"as good as the incumbent": gap >= -SLACK}
    facts: dict[str, Any] = {}
    if power:
        facts["blind_spot"] = blind_spot(setting, pair, steps, tell)
        facts["scripts"] = scratch_against_script(setting, found[1], steps, tell)
        checks |= {"finds a blind spot": facts["blind_spot"]["found"], "beats a script": facts["scripts"]["passed"]}
    return {
        "gap": gap,
        "low": low,
        "high": high,
        "incumbent": own_now[0] / own_now[1],
        "challengers": {one.response.start: _facts(one) for one in found},
        "trained_steps": trained[role],
        "power": {"passed": all(checks.values()), "full": power, "checks": checks, **facts},
    }


def _challenge(setting: Setting, start: Arrays | None, steps: int, seed: int, tell: Callable[[Gain], None]) -> Found:
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


def blind_spot(setting: Setting, pair: tuple[Arrays, Arrays], steps: int, tell: Tell) -> dict[str, Any]:
    """Plant a hole the incumbent hardly profits from, and see whether the same budget finds it."""
    duels = min(2000, setting.config.response.duels)
    incumbent = Contender(CHALLENGER, pair[setting.role])
    plain = measure(setting, incumbent, duels)
    for width in BLIND_WIDTHS:
        blind = setting._replace(blind=Blind(other(setting.role), BLIND_START, BLIND_START + width))
        free = measure(blind, incumbent, duels)
        if free[0] / free[1] - plain[0] / plain[1] <= BLIND_FREE:
            break
    found = _challenge(blind, pair[setting.role], steps, 301 + setting.role, partial(tell, "blind spot"))
    low, high = newcombe((found.wins, found.duels), free)
    gain = found.wins / found.duels - free[0] / free[1]
    return {
        "width_deg": width,
        "incumbent": free[0] / free[1],
        "challenger": found.wins / found.duels,
        "gain": gain,
        "low": low,
        "high": high,
        "found": gain >= BLIND_FOUND and low > BLIND_SURE,
    }


def scratch_against_script(setting: Setting, scratch: Found, steps: int, tell: Tell) -> dict[str, Any]:
    """Can a learner from scratch beat a script that is known to be beatable?"""
    name, wanted = SCRIPTED[setting.role]
    scripted = setting._replace(rival=script(name))
    found = _challenge(scripted, None, steps, 501 + setting.role, partial(tell, f"script {name}"))
    rate = found.wins / found.duels
    return {"script": name, "rate": rate, "wanted": wanted, "passed": rate >= wanted}
