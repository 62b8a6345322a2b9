"""What follows from an evaluation, in a fixed order: collapse, regress, convergence, advance, freezing, boost.

Convergence looks only at evaluations at the top level; an evaluation that justified an advance serves nothing else.
"""

from __future__ import annotations

import torch

from holdfast.curriculum.contract import Tell
from holdfast.kit.timing import Clock
from holdfast.selfplay.book import Milestone
from holdfast.selfplay.judging import BALANCE, Judgement, best_of
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.levels import LevelDecision, decide_level, is_plateau
from holdfast.selfplay.pair import IMPORTANCE, Pair
from holdfast.selfplay.probes import HOPELESS_HIGH, HOPELESS_LOW, alarms
from holdfast.selfplay.rota import FIRST, SECOND, after_evaluation, who_learns_next
from holdfast.selfplay.treatment import best_at_level
from holdfast.state import torch_generator

IMPORTANCE_SAMPLES = 1024  # observations that the importance of weights is measured on
MILESTONES = 8  # kept per role
RIVALS = 3  # milestones of the first role that a warm start is judged against
CANDIDATE_STREAK = 2


def decide(pair: Pair, ladder: Ladder, found: Judgement, clock: Clock, event: Tell) -> str:
    """Take an evaluation into the book and act on it; `advance`, `regress`, `candidate` or `hold`."""
    book, config = pair.book, pair.config
    book.gap, book.evaluated_at = found.gap, pair.counts.iteration
    _keep_milestones(pair, found)
    if HOPELESS_LOW < found.rate < HOPELESS_HIGH:
        book.tally.since_healthy = 0
    _recover_collapsed(pair, found, event)
    decision = LevelDecision("hold", "no levels", ())
    is_of_play = book.standing.turns > 0  # a pair that only practised at this level, or started warm, proves nothing
    if not is_of_play:
        decision = decision._replace(because="no turn of play at this level yet")
    elif ladder.levels:
        panel = found.panel_rates()
        decision = decide_level(config.levels, book.standing, found.answers, panel, ladder.top)
    else:
        book.standing.rates = [*book.standing.rates, found.rate][-4:]
        book.standing.panels = [*book.standing.panels, found.panel_rates()][-4:]
    verdict: str = decision.event
    if decision.event == "regress":
        _move(pair, ladder, found.level - 1, event, decision)
        _restore_best(pair, event)
    elif decision.event == "advance":
        _advance(pair, ladder, decision, clock, event)
    elif is_of_play and found.level == ladder.top and _is_candidate(pair, ladder, found, event):
        verdict = "candidate"
    for rule in after_evaluation(config.duel, book.rota, found.rate, pair.counts.agent_steps):
        event(rule, rate=found.rate, rota=book.rota.__dict__)
    return verdict


def _keep_milestones(pair: Pair, found: Judgement) -> None:
    rates = (found.rate, 1.0 - found.rate)
    for number, side_book in enumerate(pair.book.sides):
        made = Milestone(found.hashes[number], side_book.steps, pair.counts.iteration, found.level, rates[number])
        side_book.milestones = [*side_book.milestones, made][-MILESTONES:]


def _recover_collapsed(pair: Pair, found: Judgement, event: Tell) -> None:
    health = pair.config.health
    if health.collapse_threshold <= 0.0:
        return
    for number, rate in ((FIRST, found.rate), (SECOND, 1.0 - found.rate)):
        side_book = pair.book.sides[number]
        side_book.collapses = side_book.collapses + 1 if rate < health.collapse_threshold else 0
        best = best_at_level(pair, number, found.level)
        if side_book.collapses < health.collapse_streak or best is None:
            continue
        pair.go_back(number, best)
        side_book.collapses = 0
        side_book.rollbacks += 1
        pair.book.tally.in_run += 1
        side_book.pulse.clear()
        event("collapse", role=pair.roles[number], rate=rate, threshold=health.collapse_threshold, policy=best)


# --- levels -----------------------------------------------------------------------------------------------------------


def _advance(pair: Pair, ladder: Ladder, decision: LevelDecision, clock: Clock, event: Tell) -> None:
    """Hold what mattered at the old level, move, start warm, let the evader learn first."""
    duel, book = pair.config.duel, pair.book
    for number, learner in enumerate(pair.learners):
        if learner.anchor is not None:
            skipped, facts = take_importance(pair, number, clock), {"level": book.standing.level}
            if skipped:
                event("ewc_skipped", role=pair.roles[number], because=skipped, **facts)
            else:
                event("ewc", role=pair.roles[number], importance=float(learner.anchor.fisher.sum()), **facts)
    _move(pair, ladder, book.standing.level + 1, event, decision)
    if duel.evader_first:
        book.rota.forced = SECOND
    book.standing.awaits = who_learns_next(duel, book.rota) if book.finish_at is None else None
    if duel.warm_start:
        _warm_start(pair, ladder, event)


def _move(pair: Pair, ladder: Ladder, level: int, event: Tell, decision: LevelDecision) -> None:
    book = pair.book
    before = book.standing.level
    book.standing.move_to(level)
    book.candidate_streak = 0
    for side_book in book.sides:
        side_book.restart_next = True
        side_book.pulse.clear()
    event(
        decision.event,
        level=level,
        before=before,
        label=ladder.label(level),
        because=decision.because,
        tests=[test._asdict() for test in decision.evidence],
    )


def _restore_best(pair: Pair, event: Tell) -> None:
    """After a regress both roles go on from their best milestones of the level they return to."""
    level = pair.book.standing.level
    for number, role in enumerate(pair.roles):
        best = best_at_level(pair, number, level)
        if best is not None:
            pair.go_back(number, best)
        event("restored", role=role, policy=best, level=level)


def _warm_start(pair: Pair, ladder: Ladder, event: Tell) -> None:
    """The second role goes on from the milestone that does best at the new level, optimiser and all."""
    book = pair.book
    mine = list({milestone.hash: milestone for milestone in book.sides[SECOND].milestones}.values())
    rivals = book.sides[FIRST].milestones[-RIVALS:]
    candidates = [(milestone.hash, pair.vault.take(milestone.hash)) for milestone in mine]
    against = [(rival.hash, pair.vault.take(rival.hash)) for rival in {m.hash: m for m in rivals}.values()]
    best, scores = best_of(pair.config, ladder, book.standing.level, candidates, against)
    pair.go_back(SECOND, mine[best].hash)
    book.warm_next = True
    event("warm_start", policy=mine[best].hash, scores={m.hash: score for m, score in zip(mine, scores, strict=True)})


def take_importance(pair: Pair, number: int, clock: Clock) -> str:
    """Measure importance on a fresh rollout at the level that is left, against the usual opponents; why not, if not."""
    learner, arena = pair.learners[number], pair.arenas[number]
    anchor = learner.anchor
    assert anchor is not None
    if arena.cast is not None and not arena.cast.hashes() and not any(arena.cast.players):
        return "the role has not played yet"
    arena.collect(clock, None)
    arena.take_outcomes()
    batch, wanted = arena.batch, IMPORTANCE_SAMPLES
    generator = torch_generator(pair.config.run.seed, IMPORTANCE + 1000 * pair.counts.iteration)
    if learner.policy.core is not None:  # only at the first step is a row's memory known
        rows = batch.valid[0].nonzero()[:wanted, 0]
        anchor.take(batch.obs[0][rows], batch.hidden[rows], batch.starts[0][rows], generator)
        return ""
    steps = batch.valid.flatten().nonzero()[:, 0]
    rows = steps[torch.randperm(len(steps), generator=generator)[:wanted]]
    hidden = batch.hidden[rows % batch.rows]
    anchor.take(batch.obs.flatten(0, 1)[rows], hidden, batch.starts.flatten()[rows], generator)
    return ""


# --- convergence ------------------------------------------------------------------------------------------------------


def _is_candidate(pair: Pair, ladder: Ladder, found: Judgement, event: Tell) -> bool:
    """At the top level, balanced or unchanging, twice in a row, without an alarm."""
    book, spec = pair.book, ladder.spec
    roles = (spec.roles[0].name, spec.roles[1].name)
    reasons = alarms(found.probes, roles, book.standing.rates)
    balanced, plateau = found.answers[BALANCE.name].verdict == "yes", is_plateau(book.standing)
    passed = (balanced or plateau) and not reasons
    book.candidate_streak = book.candidate_streak + 1 if passed else 0
    if reasons:
        event("alarm", reasons=reasons)
    if book.candidate_streak < CANDIDATE_STREAK:
        return False
    event("candidate", balanced=balanced, plateau=plateau, rate=found.rate, policies=list(found.hashes))
    return True
