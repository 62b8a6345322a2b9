"""The table of signs: when to say something, about which role, on what evidence, and what may help.

Every rule is a pure function of the history. A quantity that was not measured is absent, and a rule that needs it is
silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import fmean
from typing import Any, NamedTuple

from holdfast.runs.history import FIRST, History

Found = Iterator[tuple[str, dict[str, Any]]]  # the role it is about ("" for all), and the evidence


class Rule(NamedTuple):
    """One sign and its advice."""

    name: str
    look: Callable[[History], Found]
    advice: str


# --- learning ------------------------------------------------------------------------------------------------------


def undecided(history: History) -> Found:
    for role, most in history.facts.max_entropy.items():
        entropy = history.now(f"learner.{role}.entropy")
        if entropy is not None and history.share > 0.2 and entropy > 0.98 * most:
            yield role, {"entropy": entropy, "most": most, "share_of_run": history.share}


def collapsed(history: History) -> Found:
    """Certain of itself, and wrong: no better than chance, or clearing less than half of its episodes."""
    score, cleared = history.last("evaluation.score"), history.last("evaluation.cleared")
    poor = cleared is not None and cleared < 0.5
    if score is not None and history.random_score is not None:
        poor = poor or score <= history.random_score
    for role, most in history.facts.max_entropy.items():
        entropy = history.now(f"learner.{role}.entropy")
        if poor and entropy is not None and entropy < 0.05 * most:
            yield role, {"entropy": entropy, "most": most, "score": score, "cleared": cleared}


def blind_values(history: History) -> Found:
    for role in history.facts.roles:
        explained = history.column(f"learner.{role}.explained_variance", 10)
        if explained is not None and max(explained) <= 0.0:
            yield role, {"explained_variance": explained[-1], "iterations": len(explained)}


def rate_gone(history: History) -> Found:
    base, restart = history.facts.base_lr, history.facts.lr_restart
    if 0.0 < restart <= 1.0 - history.share:
        return  # it will rise again
    for role in history.facts.roles:
        lr = history.now(f"learner.{role}.lr")
        if lr is not None and history.share < 0.95 and lr < 0.01 * base:
            yield role, {"lr": lr, "base": base, "share_of_run": history.share}


def rough_updates(history: History) -> Found:
    limit = 10.0 * history.facts.max_grad_norm
    for role in history.facts.roles:
        norms = history.column(f"learner.{role}.grad_norm", 20)
        if norms is not None and history.iteration >= 50 and limit > 0.0 and min(norms) > limit:
            yield role, {"grad_norm": norms[-1], "limit": history.facts.max_grad_norm}


def empty_replay(history: History) -> Found:
    """Far from full though enough was kept to fill a tenth of it, or after 300 iterations."""
    for role in history.facts.roles:
        fill, size = history.now(f"learner.{role}.replay_fill"), history.now(f"learner.{role}.replay_size")
        kept = history.now(f"learner.{role}.replay_pushed")
        if fill is None or size is None or kept is None or history.iteration < 100 or fill >= 0.05:
            continue
        if history.iteration >= 300 or kept * fill >= 0.1 * size:
            yield role, {"replay_fill": fill, "replay_pushed": kept}


def worn_replay(history: History) -> Found:
    for role in history.facts.roles:
        unique = history.column(f"learner.{role}.replay_unique", 20)
        if unique is not None and fmean(unique) < 0.3:
            yield role, {"replay_unique": fmean(unique)}


def flat_return(history: History) -> Found:
    """The mean score of training episodes is where it was at the beginning, by two standard errors. In self-play a
    score is a balance, and may well stay."""
    if history.now("duel.turn") is not None:
        return
    name = f"episode.{history.facts.score}"
    early = [float(row[name]) for row in history.first if name in row]
    late = history.column(name, FIRST)
    if history.share < 0.25 or late is None or len(early) < FIRST or history.iteration < 2 * FIRST:
        return
    error = ((variance(early) + variance(late)) / FIRST) ** 0.5
    if abs(fmean(late) - fmean(early)) <= 2.0 * error:
        yield "", {"first": fmean(early), "now": fmean(late), "standard_error": error}


def variance(values: list[float]) -> float:
    """That of `statistics` computes in fractions, which takes half a millisecond."""
    middle = fmean(values)
    return sum((value - middle) ** 2 for value in values) / (len(values) - 1)


def no_better_than_random(history: History) -> Found:
    score, chance = history.now("evaluation.score"), history.random_score
    late = history.iteration >= min(200, history.facts.iterations / 2)
    if late and score is not None and chance is not None and score <= chance:
        yield "", {"score": score, "random": chance}


def one_action(history: History) -> Found:
    for role in history.facts.roles:
        share = history.now(f"evaluation.{role}.top_action_share")
        if share is not None and share > 0.9:
            yield role, {"top_action_share": share}


# --- episodes ------------------------------------------------------------------------------------------------------


def no_episode_ends(history: History) -> Found:
    steps = history.iteration * history.facts.rollout_steps
    if history.now("episodes") == 0 and steps > 1000:
        yield "", {"steps_per_lane": steps}


def standing_still(history: History) -> Found:
    for reason in ("timeout", "stagnation"):
        ratio = history.now(f"episode.end_{reason}")
        if ratio is not None and ratio > 0.5:
            yield "", {f"end_{reason}": ratio}


# --- machine -------------------------------------------------------------------------------------------------------


def slower(history: History) -> Found:
    if history.share <= 0.25 or history.early_s == 0.0 or len(history.speeds) < 20:
        return
    early, now = history.early_steps / history.early_s, fmean(history.speeds)
    if now < 0.5 * early:
        yield "", {"agent_steps_per_s": now, "in_first_quarter": early}


RULES = (
    Rule(
        "undecided",
        undecided,
        "the policy still acts almost by chance: is the reward seen at all? lower learner.entropy, raise learner.lr",
    ),
    Rule("collapsed", collapsed, "the policy decided too early, and badly: raise learner.entropy, lower learner.lr"),
    Rule(
        "blind values",
        blind_values,
        "values foresee nothing of the returns: check learner.gamma, the reward's scale and what the agents can see",
    ),
    Rule(
        "rate gone",
        rate_gone,
        "the learning rate is almost 0 long before the end: raise run.iterations or use lr_schedule = constant",
    ),
    Rule(
        "rough updates", rough_updates, "gradients are far above their limit: lower learner.lr or scale the reward down"
    ),
    Rule(
        "empty replay",
        empty_replay,
        "little of the replay's capacity is used: lower replay.capacity, or see why so many steps are forced",
    ),
    Rule(
        "worn replay",
        worn_replay,
        "the same few steps are replayed again and again: lower replay.alpha or replay.batch",
    ),
    Rule(
        "flat return",
        flat_return,
        "training episodes score what they scored at the beginning: check that the reward depends on the actions",
    ),
    Rule(
        "no better than random",
        no_better_than_random,
        "not better than random play: check learner.gamma, learner.entropy and the terms of the reward",
    ),
    Rule(
        "one action",
        one_action,
        "the likeliest action is nearly always the same one: judge with evaluation.sampled = true, or raise learner.lr",
    ),
    Rule(
        "no episode ends",
        no_episode_ends,
        "no episode has ended: check that the world terminates or truncates (holdfast doctor --world)",
    ),
    Rule(
        "standing still",
        standing_still,
        "most episodes are cut while nothing happens: lower their limits, check the start",
    ),
    Rule(
        "slower", slower, "the run is at half its early speed: see where the time goes, and what else the machine does"
    ),
)
