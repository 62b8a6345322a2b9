"""Signs of trouble that only a game of stages has."""

from __future__ import annotations

from holdfast.runs.hint_rules import Found, Rule
from holdfast.runs.history import History


def same_obstacle(history: History) -> Found:
    furthest = history.column("episode.max_x", 50)
    lost = (history.now("episode.end_death") or 0.0) + (history.now("episode.end_pit") or 0.0)
    if lost > 0.95 and furthest is not None and max(furthest[25:]) <= max(furthest[:25]):
        yield "", {"end_death_or_pit": lost, "max_x": furthest[-1]}


def no_distance(history: History) -> Found:
    """Neither new ground nor anything of the game's own reward, while the policy acts for itself."""
    paid, raw = history.column("episode.paid_distance", 10), history.column("episode.raw_return", 10)
    if paid is None or raw is None or history.now("episode.forced_steps"):
        return
    if not any(paid) and max(raw) <= 0.0:
        yield "", {"paid_distance": 0.0, "raw_return": raw[-1]}


RULES = (
    Rule(
        "same obstacle",
        same_obstacle,
        "episodes end at the same obstacle: raise learner.entropy, or start some of them near it",
    ),
    Rule(
        "no distance",
        no_distance,
        "nobody gets anywhere: run holdfast doctor mario, then raise world.distance_weight or force some first steps",
    ),
)
