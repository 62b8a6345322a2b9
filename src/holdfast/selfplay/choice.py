"""The choice among those who learned the first role: itself and its partners, once, when learning together ends.

All have learned as long and from the same opponents. Who wins most against the second role as it stands is the first
role from then on, on duels that nothing else is measured by.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.rollout.evaluate import evaluation_keys
from holdfast.selfplay.judging import wins_of_each
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.rota import FIRST, SECOND
from holdfast.selfplay.schedule import planned_sharpening
from holdfast.selfplay.state import DuelState
from holdfast.selfplay.vault import arrays_of, put_into

CHOICE = 11  # block of evaluation seeds


def choice_is_due(state: DuelState) -> bool:
    """Before the roles sharpen or the first one finishes, or else when the run ends."""
    if not state.partners or state.book.has_chosen:
        return False
    return state.scheduled >= planned_sharpening(state.config)


def choose(state: DuelState, ladder: Ladder, event: Callable[..., None]) -> None:
    """The best becomes the first role, with its optimiser; partners learn no more."""
    config, book = state.config, state.book
    candidates = [state.sides[FIRST], *(partner.side for partner in state.partners)]
    keys = evaluation_keys(config.evaluation.seed, CHOICE, config.evaluation.final_episodes)
    arrays = [arrays_of(side) for side in candidates]
    wins = wins_of_each(config, ladder, book.standing.level, arrays, arrays_of(state.sides[SECOND]), keys)
    best = wins.index(max(wins))
    if best > 0:
        put_into(state.sides[FIRST], {name: array.copy() for name, array in arrays[best].items()})
    book.has_chosen = True
    names = [state.sides[FIRST].name, *(partner.name for partner in state.partners)]
    event("choice", chosen=names[best], wins=dict(zip(names, wins, strict=True)), duels=len(keys))
