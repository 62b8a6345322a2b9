"""Turns: who learns next against whom, at which level, how long. Begun and ended here, planned in `curriculum.py`."""

from __future__ import annotations

import numpy as np

from holdfast.curriculum.contract import Tell
from holdfast.selfplay.arena import Arena
from holdfast.selfplay.book import TurnBook
from holdfast.selfplay.cast import Player
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.matches import Arrays
from holdfast.selfplay.pair import Pair
from holdfast.selfplay.rota import (
    FIRST,
    SECOND,
    Turn,
    after_turn,
    damping,
    forced_switch_is_due,
    next_turn,
    other,
    switch_frozen,
    turn_rollouts,
)
from holdfast.selfplay.schedule import rollouts_until_change

STUCK_MIX = (0.2, 0.8, 0.0)  # against players a stuck role can beat
IDLE_SCRIPTS = ("still",)  # no opponent to learn from


def exercise_is_due(pair: Pair, number: int) -> bool:
    return number in pair.exercises and pair.book.sides[number].cold_steps < pair.config.duel.cold_start_steps


def begin_turn(pair: Pair, ladder: Ladder, event: Tell) -> None:
    """Choose roles and length, deal opponents and levels, and keep a state to come back to."""
    book, duel = pair.book, pair.config.duel
    steps = pair.counts.agent_steps
    roles: tuple[int, ...]
    exercising = [number for number in pair.exercises if exercise_is_due(pair, number)]
    if exercising:
        roles, reason, stage = (exercising[0],), "cold start", "exercise"
        length = -(-duel.cold_start_steps // rollout_steps(pair.exercises[exercising[0]]))
    elif book.warm_next and book.finish_at is None:
        roles, reason, stage = (SECOND,), "warm start", "warm"
        length = -(-duel.warm_start_steps // rollout_steps(pair.arenas[SECOND]))
    else:
        finish = Turn((FIRST,), "finish") if book.finish_at is not None else None
        (roles, reason), stage = finish or next_turn(duel, book.rota, steps), "play"
        obstacles, shrink = ladder.has_obstacles(book.standing.level), 0.5**book.tally.halvings
        each = [
            turn_rollouts(duel, n, book.play_steps, rollout_steps(pair.arenas[n]), obstacles, shrink) for n in roles
        ]
        length = min(max(each), rollouts_until_change(pair.config, book, pair.scheduled) or max(each))
    book.turns += 1
    book.tally.in_turn = 0
    book.turn = TurnBook(
        number=book.turns,
        roles=list(roles),
        reason=reason,
        stage=stage,
        rollouts=length,
        left=length,
        lr_scale=damping(duel, book.gap) * 0.5**book.tally.halvings,
        full_sight=ladder.sight_at(steps),
    )
    seated = {pair.roles[n]: prepare_side(pair, ladder, n) for n in roles} if stage != "exercise" else {}
    for number in roles:
        book.sides[number].is_stuck = False
        book.sides[number].pulse.begin_turn(pair.config.health.window)
        pair.keep_in_ring(number, is_turn_start=True)
    event(
        "turn",
        turn=book.turns,
        roles=[pair.roles[n] for n in roles],
        stage=stage,
        reason=reason,
        rollouts=length,
        level=book.standing.level,
        lr_scale=book.turn.lr_scale,
        full_sight=book.turn.full_sight,
        opponents=seated,
    )


def rollout_steps(arena: Arena) -> int:
    return arena.batch.steps * arena.batch.rows


def prepare_side(pair: Pair, ladder: Ladder, number: int, restart: bool = False) -> list[str]:
    """Opponents and levels for the coming episodes of a role; the names of who will be met."""
    duel, side_book = pair.config.duel, pair.book.sides[number]
    assert pair.book.turn is not None
    side_book.sight = pair.book.turn.full_sight
    arena = pair.arenas[number]
    seated = [f"{player.kind}:{player.name}" for player in arena.share_out(opponents(pair, number))]
    set_level(pair, ladder, arena, side_book.sight, duel.mixed_level_ratio)
    if restart or side_book.restart_next:
        arena.restart()
    side_book.restart_next = False
    return list(dict.fromkeys(seated))


def set_level(pair: Pair, ladder: Ladder, arena: Arena, sight: float, mix: float, only_know: bool = False) -> None:
    level = pair.book.standing.level
    before = ladder.row(level - 1, sight) if ladder.levels and level > 0 else None
    (arena.know_levels if only_know else arena.set_levels)(ladder.row(level, sight), before, mix)


def opponents(pair: Pair, number: int) -> list[tuple[Player, float, Arrays | None]]:
    """Who a role meets, with the share of its episodes: the newest, earlier ones by measured results, scripts."""
    league, rival = pair.config.league, pair.learners[other(number)]
    side_book, rival_book = pair.book.sides[number], pair.book.sides[other(number)]
    pool, newest = rival_book.pool, pair.vault.freeze(rival)
    mix = [*league.mix, 0.0, 0.0][:3]
    drawn = []
    if pool.members:
        if side_book.is_stuck:
            mix = list(STUCK_MIX)
        drawn = pool.draw(league, "variance" if side_book.is_stuck else None)
        drawn = [member for member in drawn if member.hash != newest]
    cast = pair.arenas[number].cast
    assert cast is not None
    scripts = [name for name in cast.scripts if name not in IDLE_SCRIPTS]
    found: list[tuple[Player, float, Arrays | None]] = [(Player("newest", newest), mix[0], pair.vault.take(newest))]
    if mix[1] > 0.0 and drawn:
        for member in drawn:
            found.append((Player("earlier", member.hash), mix[1] / len(drawn), pair.vault.take(member.hash)))
    if mix[2] > 0.0:
        found += [(Player("script", name), mix[2] / len(scripts), None) for name in scripts]
    return [entry for entry in found if entry[1] > 0.0] or found[:1]


def end_turn(pair: Pair, event: Tell) -> None:
    """Note the turn, offer what was learned to the pools, and switch frozen roles that had their time."""
    book, config = pair.book, pair.config
    turn = book.turn
    assert turn is not None
    for number in turn.roles:
        side_book = book.sides[number]
        side_book.turns += 1
        if turn.stage != "exercise" and config.league.size > 0 and side_book.turns % config.league.offer_every == 0:
            name = pair.vault.freeze(pair.learners[number])
            left = side_book.pool.offer(name, side_book.steps, config.league)
            event("offered", role=pair.roles[number], policy=name, left=None if left is None else left.hash)
    if turn.stage == "play":
        after_turn(book.rota, tuple(turn.roles))
        book.played += 1
        book.standing.turns += 1
        if book.standing.awaits in turn.roles:
            book.standing.awaits = None
    elif turn.stage == "warm":
        book.warm_next = False
    else:
        pair.end_exercise(turn.roles[0])
        pair.begin_ring(turn.roles[0])
    steps = pair.counts.agent_steps
    if forced_switch_is_due(config.duel, book.rota, steps):
        switch_frozen(book.rota, steps)
        event("forced_switch", active=pair.roles[book.rota.active])
    book.turn = None


def note_outcomes(pair: Pair, number: int) -> dict[str, float]:
    """Count ended episodes for the health of a role and for the pool it met; its share of wins, if any ended."""
    arena, side_book = pair.arenas[number], pair.book.sides[number]
    outcome = arena.take_outcomes()
    if arena.cast is None or len(outcome.won) == 0:
        return {}
    players = [arena.cast.players[place] for place in outcome.place]
    kinds = np.array(["" if player is None else player.kind for player in players])
    newest = (kinds == "newest") & ~outcome.mixed
    side_book.pulse.add(outcome.won[newest].astype(int).tolist(), pair.config.health.window)
    pool = pair.book.sides[other(number)].pool
    for place in np.unique(outcome.place[kinds == "earlier"]):
        player = arena.cast.players[place]
        member = pool.member(player.name) if player is not None else None
        mine = outcome.place == place
        if member is not None:
            member.add(int(outcome.won[mine].sum()), int(mine.sum()))
    return {"won": float(outcome.won.mean()), "mixed": float(outcome.mixed.mean())}
