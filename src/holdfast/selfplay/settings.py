"""The options of self-play. In every pair of roles the first one of the world hunts and the second one evades."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from holdfast.config.options import option

Roles = Literal["first", "second", "both"]
TURNS = ("duel.mode", ("turns",))
DUELS = ("duel.mode", ("turns", "simultaneous"))


@dataclass(frozen=True)
class DuelConfig:
    """Self-play between the two roles of a world; the first role hunts, the second evades."""

    mode: Literal["off", "turns", "simultaneous"] = option(
        "off", "turns: one role learns at a time; simultaneous: both, each in episodes of its own"
    )
    turn_steps: int = option(500_000, "agent-steps of a turn, rounded up to whole rollouts", low=1, only=DUELS)
    max_turns: int = option(0, "end after this many turns; 0 = only run.iterations counts", low=0, only=DUELS)
    warmup: bool = option(
        False, "turns of 0.2, 0.4 and 0.6 of their length until 0.2, 0.6 and 1.2 million steps", only=DUELS
    )
    train_ratio: int = option(1, "turns of the first role for each of the second", low=1, only=TURNS)
    evader_first: bool = option(False, "after an advance the second role learns first", only=TURNS)
    evader_multiplier: float = option(1.0, "turns of the second role are this much longer", low=0.1, only=TURNS)
    evader_lr: float = option(
        1.0,
        "learning rate of the second role, as a share of learner.lr; challengers have all of it",
        low=0.0,
        only=DUELS,
    )
    multiplier_when: Literal["obstacles", "always"] = option(
        "obstacles", "when the multiplier acts: at levels with obstacles, or always", only=TURNS
    )
    warm_start: bool = option(
        False, "at an advance the second role goes on from its best milestone, in a turn of its own", only=TURNS
    )
    warm_start_steps: int = option(50_000, "agent-steps of that turn", low=1, only=("duel.warm_start", (True,)))
    mixed_level_ratio: float = option(0.0, "share of the episodes at the level before", low=0.0, high=0.9, only=DUELS)
    boost_threshold: float = option(
        0.0, "with a wider balance gap the losing role gets turns of its own; 0 = off", low=0.0, high=1.0, only=TURNS
    )
    boost_turns: int = option(20, "how many turns", low=1, only=TURNS)
    damp_threshold: float = option(
        0.0, "with a narrower balance gap learning slows down in proportion; 0 = off", low=0.0, high=1.0, only=DUELS
    )
    finish_share: float = option(
        0.0,
        "share of the run, at its end, in which only the first role learns, as a challenger; 0 = none",
        low=0.0,
        high=0.9,
        only=DUELS,
    )
    finish_until: float = option(
        0.0,
        "share of wins of the first role in an evaluation that ends the finish, or makes one needless; 0 = none",
        low=0.0,
        high=1.0,
        only=DUELS,
    )
    freeze_role: Literal["none", "first", "second"] = option("none", "a role that never learns", only=DUELS)
    alternate_freeze: bool = option(
        False, "only one role learns until it wins often enough, then the other; the first one begins", only=TURNS
    )
    freeze_threshold: float = option(
        0.6, "share of wins that ends its time", low=0.0, high=1.0, only=("duel.alternate_freeze", (True,))
    )
    freeze_consecutive: int = option(1, "evaluations in a row above it", low=1, only=("duel.alternate_freeze", (True,)))
    freeze_schedule: tuple[str, ...] = option(
        (), "thresholds from a step on, as step:threshold", only=("duel.alternate_freeze", (True,))
    )
    force_switch_every: int = option(
        0, "agent-steps after which it ends in any case; 0 = never", low=0, only=("duel.alternate_freeze", (True,))
    )
    force_first_switch: int = option(
        0, "the same for the first time; 0 = as the others", low=0, only=("duel.alternate_freeze", (True,))
    )
    free_play_from: int = option(
        0, "agent-steps from which nobody is frozen; 0 = never", low=0, only=("duel.alternate_freeze", (True,))
    )
    cold_start: Literal["none", "second", "both"] = option(
        "none", "who first learns to move, in the world's own exercise", only=DUELS
    )
    cold_start_steps: int = option(200_000, "agent-steps of the exercise", low=1, only=DUELS)
    mask_steps: int = option(
        0, "agent-steps over which full sight fades to the world's own; 0 = off", low=0, only=DUELS
    )
    mask_residual: float = option(0.0, "share of full sight that stays", low=0.0, high=1.0, only=DUELS)
    test: Literal["sequential", "point"] = option(
        "sequential", "how rates are judged: by intervals at looks of growing size, or by the bare rate", only=DUELS
    )


@dataclass(frozen=True)
class LevelsConfig:
    """How hard the duels are, and when they become harder."""

    kind: Literal["none", "discrete", "smooth"] = option(
        "none", "discrete: six levels; smooth: the distance grows in steps", only=DUELS
    )
    increment: float = option(0.5, "metres of each step", low=0.01, only=("levels.kind", ("smooth",)))
    start_max: float = option(5.0, "largest distance of the first level", low=0.1, only=("levels.kind", ("smooth",)))
    final_max: float = option(15.0, "largest distance of the last level", low=0.1, only=("levels.kind", ("smooth",)))
    obstacles_from: float = option(
        8.0, "largest distance from which there are obstacles", low=0.0, only=("levels.kind", ("smooth",))
    )
    obstacles: int = option(3, "how many", low=0, only=("levels.kind", ("discrete", "smooth")))
    min_obstacles: int = option(0, "how many before that", low=0, only=("levels.kind", ("smooth",)))
    start_level: int = option(0, "index of the first level in use", low=0, only=("levels.kind", ("discrete", "smooth")))
    advance: Literal["capture", "balance", "plateau"] = option(
        "balance",
        "when: the first role wins often; neither does; or nothing changes any more",
        only=("levels.kind", ("discrete", "smooth")),
    )
    capture_threshold: float = option(
        0.7, "share of wins of the first role", low=0.0, high=1.0, only=("levels.advance", ("capture",))
    )
    min_escape: float = option(
        0.0, "least share of wins of the second role", low=0.0, high=1.0, only=("levels.advance", ("capture",))
    )
    min_evaluations: int = option(1, "evaluations at a level", low=1, only=("levels.kind", ("discrete", "smooth")))
    balance_gap: float = option(
        0.15, "largest difference of the two shares of wins", low=0.0, high=1.0, only=("levels.advance", ("balance",))
    )
    consecutive: int = option(
        2, "evaluations in a row that must pass", low=1, only=("levels.advance", ("balance", "plateau"))
    )
    regress_floor: float = option(
        0.02, "share of wins of the second role", low=0.0, high=1.0, only=("levels.kind", ("discrete", "smooth"))
    )
    regress_patience: int = option(
        3, "evaluations in a row below it that lead a level down", low=1, only=("levels.kind", ("discrete", "smooth"))
    )


@dataclass(frozen=True)
class LeagueConfig:
    """Who a role learns against: the other's newest policy, earlier ones, and scripts."""

    size: int = option(20, "earlier policies kept per role; 0 = none", low=0, only=DUELS)
    keep: Literal["reservoir", "newest"] = option(
        "reservoir", "which: a fair sample of all offered, or the newest", only=DUELS
    )
    offer_every: int = option(1, "turns of a role between two offers of its policy", low=1, only=DUELS)
    active: int = option(8, "earlier policies met in one turn", low=1, only=DUELS)
    mix: tuple[float, ...] = option(
        (0.5, 0.4, 0.1), "shares of episodes against the newest, the earlier ones, and scripts", low=0.0, only=DUELS
    )
    draw: Literal["hard", "variance", "uniform"] = option(
        "hard", "which earlier ones: those one loses to, those one is even with, or any", only=DUELS
    )
    power: float = option(2.0, "how strongly", low=0.0, only=("league.draw", ("hard",)))
    half_life: float = option(200.0, "episodes after which a result counts half", low=1.0, only=DUELS)


@dataclass(frozen=True)
class HealthConfig:
    """What counts as sick in self-play, and what is done about it."""

    window: int = option(
        1000, "episodes against the newest opponent that a share of wins is taken from", low=20, only=DUELS
    )
    low: float = option(0.02, "a share of wins that means defeat", low=0.0, high=1.0, only=DUELS)
    high: float = option(0.98, "a share of wins that means domination", low=0.0, high=1.0, only=DUELS)
    on_domination: Literal["switch", "rollback", "ignore"] = option(
        "switch", "end the turn and let the other role learn, or go back", only=DUELS
    )
    bilateral: bool = option(False, "both roles go back, from the first time on", only=DUELS)
    ring: int = option(15, "states of each role kept to go back to", low=2, only=DUELS)
    ring_every: int = option(10_000, "agent-steps between them", low=1, only=DUELS)
    back: int = option(3, "how far to go back when none of them was healthy", low=1, only=DUELS)
    cooldown: int = option(50_000, "agent-steps before the next time", low=0, only=DUELS)
    max_per_turn: int = option(3, "times per turn", low=0, only=DUELS)
    max_per_run: int = option(8, "times per run", low=0, only=DUELS)
    log_std_floor: float = option(-2.0, "log of the least action noise", only=("actions", ("continuous",)))
    collapse_threshold: float = option(
        0.0,
        "share of wins in evaluations below which a role gets its best state back; 0 = off",
        low=0.0,
        high=1.0,
        only=DUELS,
    )
    collapse_streak: int = option(3, "evaluations in a row", low=1, only=DUELS)


@dataclass(frozen=True)
class EwcConfig:
    """Elastic weight consolidation (Kirkpatrick et al. 2017): hold weights that mattered at the level before."""

    strength: float = option(0.0, "how firmly weights are held; 0 = off", low=0.0, only=DUELS)
    samples: int = option(1024, "observations the importance of weights is measured on", low=1, only=DUELS)
    keep: Literal["last", "online"] = option("last", "importance of the last level, or with earlier ones", only=DUELS)
    roles: Roles = option("second", "whose weights", only=DUELS)


@dataclass(frozen=True)
class RndConfig:
    """Random network distillation (Burda et al. 2019): a reward for what was seldom seen."""

    coef: float = option(0.0, "how much of it is added to the reward; 0 = off", low=0.0, only=DUELS)
    embed: int = option(64, "numbers the two networks agree on", low=1, only=DUELS)
    hidden: int = option(128, "width of their hidden layers", low=1, only=DUELS)
    lr: float = option(1e-3, "learning rate of the one that learns", low=0.0, only=DUELS)
    share: float = option(0.25, "share of each rollout it learns from", low=0.0, high=1.0, only=DUELS)
    clip: float = option(2.0, "largest reward, in deviations", low=0.0, only=DUELS)
    roles: Roles = option("second", "who gets it", only=DUELS)


@dataclass(frozen=True)
class ResponseConfig:
    """The best-response test: can a new learner beat one role while it stands still?"""

    steps: int = option(
        5_000_000,
        "agent-steps of each challenger at least; as many as its role had, if those are more",
        low=1,
        free=True,
    )
    duels: int = option(5000, "episodes that it is measured on", low=100, free=True)
    entropy: float = option(
        0.002,
        "challengers' reward for undecided policies is at most this: who beats one opponent need not hide",
        low=0.0,
        only=DUELS,
    )
    pass_gap: float = option(0.05, "a wider gap is no equilibrium", low=0.0, high=1.0, free=True)
    certify: bool = option(
        False, "test candidates during the run and the last pair, so that it can end as converged", only=DUELS
    )
    midway: bool = option(
        True, "candidates are tested; false: only the last pair, at the end", only=("response.certify", (True,))
    )
    rounds: int = option(
        0,
        "further rounds of learning, each with a test at its end, while the pair does not pass; 0 = none",
        low=0,
        high=50,
        only=("response.certify", (True,)),
    )
    anew: bool = option(
        False,
        "a round is a whole run from other first weights, not more of the last part for the pair that did not pass",
        only=("response.certify", (True,)),
    )
    mends: int = option(
        0,
        "rounds of each pair that challengers outdid in which it learns on, before the next one begins anew",
        low=0,
        high=50,
        only=("response.certify", (True,)),
    )
    heirs: Literal["none", "first", "second", "both"] = option(
        "none",
        "roles that go on with the weights of a challenger who outdid them, when a round begins",
        only=("response.certify", (True,)),
    )
    round_share: float = option(
        0.5,
        "how much of the time in which both roles learn is repeated, with its learning rate and rewards",
        low=0.01,
        high=1.0,
        only=("response.certify", (True,)),
    )
    power: bool = option(
        False,
        "let challengers prove their power on a planted weakness or loss and on scripts too",
        only=("response.certify", (True,)),
    )


SELFPLAY_SECTIONS: dict[str, type] = {
    "duel": DuelConfig,
    "levels": LevelsConfig,
    "league": LeagueConfig,
    "health": HealthConfig,
    "ewc": EwcConfig,
    "rnd": RndConfig,
    "response": ResponseConfig,
}
