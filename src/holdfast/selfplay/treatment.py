"""What is done about a sick role: back to a frozen pair, with its optimiser, both roles if asked, and no further.

Every measure goes to the events with what led to it and where it led.
"""

from __future__ import annotations

from holdfast.curriculum.contract import Tell
from holdfast.selfplay.health import Diagnosis, wants_rollback
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.pair import Pair
from holdfast.selfplay.rollback import Entry, count, escalate, target
from holdfast.selfplay.rota import other
from holdfast.selfplay.turns import prepare_side


def treat(pair: Pair, ladder: Ladder, number: int, found: Diagnosis, event: Tell) -> None:
    """Act on a diagnosis of a role during its turn."""
    book, health = pair.book, pair.config.health
    side_book, name = book.sides[number], pair.roles[number]
    assert book.turn is not None
    if wants_rollback(health, found.condition):
        roll_back(pair, ladder, number, found, event)
    elif found.condition == "stuck" and not side_book.is_stuck and book.sides[other(number)].pool.members:
        side_book.is_stuck = True
        met = prepare_side(pair, ladder, number)
        event("stuck", role=name, diagnosis=found._asdict(), opponents=met)
    elif found.condition == "dominates" and health.on_domination == "switch" and book.turn.stage == "play":
        if book.turn.left > 0:
            event("domination", role=name, diagnosis=found._asdict(), rollouts_left=book.turn.left)
        book.turn.left = 0
        book.rota.forced = other(number)
        side_book.pulse.clear()


def roll_back(pair: Pair, ladder: Ladder, number: int, found: Diagnosis, event: Tell) -> None:
    book = pair.book
    side_book = book.sides[number]
    measure = escalate(pair.config.health, book.tally, side_book.steps - side_book.rolled_back_at)
    if measure.stop:
        book.outcome, book.because = "unstable", measure.because
        event("unstable", role=pair.roles[number], diagnosis=found._asdict(), because=measure.because)
        return
    if not measure.rollback:
        event("rollback_held", role=pair.roles[number], diagnosis=found._asdict(), because=measure.because)
        side_book.pulse.clear()
        return
    roles = (number, other(number)) if measure.bilateral else (number,)
    went = {}
    for role in roles:
        entry = target(book.sides[role].ring, pair.config.health, book.tally.in_turn)
        went[pair.roles[role]] = restore_side(pair, role, entry)
    count(book.tally, measure)
    if measure.level_down and book.standing.level > 0:
        book.standing.move_to(book.standing.level - 1)
        for role in roles:
            _restore_best_below(pair, role)
    event(
        "rollback",
        role=pair.roles[number],
        bilateral=measure.bilateral,
        diagnosis=found._asdict(),
        because=measure.because,
        targets=went,
        level=book.standing.level,
        halved=measure.halve,
    )
    assert book.turn is not None
    if measure.halve:
        book.turn.lr_scale *= 0.5
    if book.turn.stage != "exercise":
        for role in book.turn.roles:
            prepare_side(pair, ladder, role, restart=True)


def restore_side(pair: Pair, number: int, entry: Entry) -> dict[str, object]:
    """Weights, optimiser, normalisers and RND of a frozen state; the run's own counters and EWC's anchor go on."""
    side_book = pair.book.sides[number]
    pair.go_back(number, entry.hash)
    side_book.pulse.clear()
    side_book.rollbacks += 1
    side_book.rolled_back_at = side_book.steps
    return {"policy": entry.hash, "from_steps": side_book.steps, "to_steps": entry.steps, "rate": entry.rate}


def _restore_best_below(pair: Pair, number: int) -> None:
    best = best_at_level(pair, number, pair.book.standing.level)
    if best is not None:
        pair.go_back(number, best)


def best_at_level(pair: Pair, number: int, level: int) -> str | None:
    """The milestone of this level that did best in its evaluation; the newest of equals."""
    mine = [milestone for milestone in pair.book.sides[number].milestones if milestone.level == level]
    return max(mine, key=lambda m: (m.rate, m.iteration)).hash if mine else None
