"""Whether challengers would find what there is to find: something known to be there is planted, or taken away.

A frozen side that acts at random while it has the other under certain angles has a blind spot, which a challenger must
find. A role that wins nearly every duel has nothing left to gain by such a hole, so that no challenger could ever show
that it found one. Its own weights are disturbed instead until it wins fewer duels: what it lost can be won, as the
incumbent does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from holdfast.kit.intervals import newcombe
from holdfast.selfplay.blindness import Blind
from holdfast.selfplay.matches import Arrays, Contender, script
from holdfast.selfplay.response import CHALLENGER, Found, Gain, Setting, challenge, measure
from holdfast.selfplay.rota import FIRST, SECOND, other

SLACK = 0.02  # a challenger this much behind the incumbent still shows that it can learn
FOUND = 0.10  # what a challenger must gain by what was planted
BLIND_START = 30.0  # degrees
BLIND_WIDTHS = tuple(range(120, 0, -10))  # narrowed until the incumbent gains little: the widest that fits the rule
BLIND_FREE = 0.15
DISTURBED = tuple(times / 10.0 for times in range(1, 31))  # noise, in deviations of the weights
SCRIPTED = {FIRST: ("flee", 0.90), SECOND: ("greedy", 0.80)}
WEIGHTS = "optimizer/parameters"
TellGain = Callable[[Gain], None]


def planted(setting: Setting, pair: tuple[Arrays, Arrays], steps: int, tell: TellGain) -> dict[str, Any]:
    """A blind spot where a challenger could gain by it; else a loss."""
    incumbent = measure(setting, Contender(CHALLENGER, pair[setting.role]), _duels(setting))
    plant = blind_spot if has_room(incumbent[0] / incumbent[1]) else loss
    return plant(setting, pair[setting.role], incumbent, steps, tell)


def has_room(rate: float) -> bool:
    """Whether a role that wins this share could gain what it may by a blind spot, and a challenger what it must."""
    return 1.0 - rate >= BLIND_FREE + FOUND


def blind_spot(
    setting: Setting, own: Arrays, plain: tuple[int, int], steps: int, tell: TellGain = lambda gain: None
) -> dict[str, Any]:
    """Plant a hole the incumbent hardly profits from, and see whether the same budget finds it."""
    incumbent, tried = Contender(CHALLENGER, own), {}

    def gained(width: int) -> float:
        tried[width] = measure(_blinded(setting, width), incumbent, _duels(setting))
        return tried[width][0] / tried[width][1] - plain[0] / plain[1]

    width = planted_width(gained)
    found = challenge(_blinded(setting, width), own, steps, 301 + setting.role, tell)
    return {"check": "finds a planted blind spot", "width_deg": width, **_facts(found, tried[width])}


def planted_width(gained: Callable[[int], float]) -> int:
    """The widest sector by which the incumbent gains little; the narrowest there is if it gains by every one."""
    return next((width for width in BLIND_WIDTHS if gained(width) <= BLIND_FREE), BLIND_WIDTHS[-1])


def _blinded(setting: Setting, width: int) -> Setting:
    return setting._replace(blind=Blind(other(setting.role), BLIND_START, BLIND_START + width))


def loss(
    setting: Setting, own: Arrays, plain: tuple[int, int], steps: int, tell: TellGain = lambda gain: None
) -> dict[str, Any]:
    """Disturb the incumbent until it wins less by what must be found, and see whether the same budget makes it up."""
    tried: dict[float, tuple[int, int]] = {}

    def lost(noise: float) -> float:
        tried[noise] = measure(setting, Contender(CHALLENGER, disturbed(own, noise)), _duels(setting))
        return plain[0] / plain[1] - tried[noise][0] / tried[noise][1]

    noise = planted_noise(lost)
    found = challenge(setting, disturbed(own, noise), steps, 301 + setting.role, tell)
    facts = _facts(found, tried[noise])
    facts["found"] = facts["found"] and facts["challenger"] >= plain[0] / plain[1] - SLACK
    return {"check": "makes up a planted loss", "noise": noise, "undisturbed": plain[0] / plain[1], **facts}


def planted_noise(lost: Callable[[float], float]) -> float:
    """The least noise that costs as much as must be found; the most there is if none does."""
    return next((noise for noise in DISTURBED if lost(noise) >= FOUND), DISTURBED[-1])


def disturbed(arrays: Arrays, noise: float) -> dict[str, np.ndarray]:
    """A role with random numbers added to its weights; more of the same ones with more noise."""
    weights = arrays[WEIGHTS]
    numbers = np.random.default_rng(0).standard_normal(weights.shape)
    return {**arrays, WEIGHTS: (weights + noise * weights.std() * numbers).astype(weights.dtype)}


def _facts(found: Found, before: tuple[int, int]) -> dict[str, Any]:
    """How much a challenger wins more than the incumbent, or what was left of it, in the same duels."""
    low, high = newcombe((found.wins, found.duels), before)
    gain = found.wins / found.duels - before[0] / before[1]
    return {
        "incumbent": before[0] / before[1],
        "challenger": found.wins / found.duels,
        "wanted": FOUND,
        "gain": gain,
        "low": low,
        "high": high,
        "found": gain >= FOUND and low > FOUND / 2.0,
    }


def _duels(setting: Setting) -> int:
    return min(2000, setting.config.response.duels)


def scratch_against_script(setting: Setting, steps: int, tell: TellGain) -> dict[str, Any]:
    """Can a learner from scratch beat a script that is known to be beatable?"""
    name, wanted = SCRIPTED[setting.role]
    scripted = setting._replace(rival=script(name))
    found = challenge(scripted, None, steps, 501 + setting.role, tell)
    rate = found.wins / found.duels
    return {"script": name, "rate": rate, "wanted": wanted, "passed": rate >= wanted}
