"""The options of self-play. In every pair of roles the first one of the world hunts and the second one evades."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from holdfast.config.options import option

Roles = Literal["first", "second", "both"]
TURNS = ("duel.mode", ("turns",))
DUELS = ("duel.mode", ("turns", "simultaneous"))


@dataclass(frozen=True)
class DuelConfig:
    """Self-play between the two roles of a world; the first role hunts, the second evades."""

    expert: ClassVar = True

    mode: Literal["off", "turns", "simultaneous"] = option(
        "off",
        "Self-play between the two roles of a world. turns: one role learns at a time; simultaneous: both learn, "
        "each in episodes of its own; off: ordinary training.",
        expert=False,
    )
    turn_steps: int = option(
        500_000,
        "Length of a turn, rounded up to whole rollouts. Short turns keep the roles level, long ones let each "
        "adapt fully.",
        low=1,
        only=DUELS,
        expert=False,
        unit="agent-steps",
    )
    max_turns: int = option(
        0,
        "End the run after this many turns; 0: only run.iterations counts.",
        low=0,
        only=DUELS,
        unit="turns",
    )
    warmup: bool = option(
        False,
        "Begin with short turns: 0.2, 0.4 and 0.6 of their length until 0.2, 0.6 and 1.2 million steps.",
        only=DUELS,
    )
    train_ratio: int = option(1, "Number of turns of the first role for each turn of the second.", low=1, only=TURNS)
    evader_first: bool = option(
        False,
        "Let the second role learn first after each advance to a harder level.",
        only=TURNS,
    )
    evader_multiplier: float = option(
        1.0,
        "Factor on the length of the second role's turns. Raise it where the second role has the harder task.",
        low=0.1,
        only=TURNS,
    )
    evader_lr: float = option(
        1.0,
        "Factor on the second role's learning rate. Lower it where the second role wins nearly all duels. "
        "Challengers use the full rate.",
        low=0.0,
        only=DUELS,
    )
    multiplier_when: Literal["obstacles", "always"] = option(
        "obstacles",
        "Levels at which duel.evader_multiplier acts: those with obstacles, or all.",
        only=TURNS,
    )
    warm_start: bool = option(
        False,
        "After each advance continue the second role from its best milestone, in a turn of its own.",
        only=TURNS,
    )
    warm_start_steps: int = option(
        50_000,
        "Length of that extra turn after an advance.",
        low=1,
        only=("duel.warm_start", (True,)),
        unit="agent-steps",
    )
    mixed_level_ratio: float = option(
        0.0,
        "Fraction of episodes that are still played at the level before.",
        low=0.0,
        high=0.9,
        only=DUELS,
    )
    boost_threshold: float = option(
        0.0,
        "Give the losing role turns of its own once the difference between the win rates is wider than this; 0 "
        "disables.",
        low=0.0,
        high=1.0,
        only=TURNS,
        example="0.3",
    )
    boost_turns: int = option(20, "Number of those extra turns of the losing role.", low=1, only=TURNS)
    damp_threshold: float = option(
        0.0,
        "Scale the learning rate down in proportion once the difference between the win rates is narrower than "
        "this; 0 disables.",
        low=0.0,
        high=1.0,
        only=DUELS,
        example="0.1",
    )
    finish_share: float = option(
        0.0,
        "Last fraction of the run in which only the first role learns, as a best response to the second; 0 disables.",
        low=0.0,
        high=0.9,
        only=DUELS,
    )
    finish_until: float = option(
        0.0,
        "Win rate of the first role in an evaluation that ends duel.finish_share early, or makes it needless; 0: "
        "it lasts to the end.",
        low=0.0,
        high=1.0,
        only=DUELS,
    )
    freeze_role: Literal["none", "first", "second"] = option("none", "Role that never learns.", only=DUELS)
    alternate_freeze: bool = option(
        False,
        "Let only one role learn until it wins often enough, then the other, the first role first.",
        only=TURNS,
    )
    freeze_threshold: float = option(
        0.6,
        "Win rate at which the learning role changes in duel.alternate_freeze.",
        low=0.0,
        high=1.0,
        only=("duel.alternate_freeze", (True,)),
    )
    freeze_consecutive: int = option(
        1,
        "Number of evaluations in a row above duel.freeze_threshold before the change.",
        low=1,
        only=("duel.alternate_freeze", (True,)),
    )
    freeze_schedule: tuple[str, ...] = option(
        (),
        "Thresholds that replace duel.freeze_threshold from a step on: STEP:THRESHOLD,…",
        only=("duel.alternate_freeze", (True,)),
        example="0:0.5,1000000:0.7",
    )
    force_switch_every: int = option(
        0,
        "Change the learning role after this many of its agent-steps in any case; 0 never does.",
        low=0,
        only=("duel.alternate_freeze", (True,)),
        unit="agent-steps",
        example="500000",
    )
    free_play_from: int = option(
        0,
        "Agent-steps after which no role is frozen any more; 0 never.",
        low=0,
        only=("duel.alternate_freeze", (True,)),
        unit="agent-steps",
        example="2000000",
    )
    cold_start: Literal["none", "second", "both"] = option(
        "none",
        "Roles that first learn to move, alone, in the world's own exercise.",
        only=DUELS,
    )
    cold_start_steps: int = option(200_000, "Length of that exercise.", low=1, only=DUELS, unit="agent-steps")
    mask_steps: int = option(
        0,
        "Number of agent-steps over which full observation of the opponent fades to the world's limited one; 0 "
        "disables.",
        low=0,
        only=DUELS,
        unit="agent-steps",
        example="1000000",
    )
    mask_residual: float = option(
        0.0,
        "Fraction of full observation that remains after duel.mask_steps.",
        low=0.0,
        high=1.0,
        only=DUELS,
    )
    test: Literal["sequential", "point"] = option(
        "sequential",
        "How win rates are judged. sequential: by confidence intervals at growing numbers of episodes; point: by "
        "the rate alone.",
        only=DUELS,
    )


@dataclass(frozen=True)
class LevelsConfig:
    """How hard the duels are, and when they become harder."""

    expert: ClassVar = True

    kind: Literal["none", "discrete", "smooth"] = option(
        "none",
        "Levels of difficulty. discrete: six of them; smooth: the largest starting distance grows in steps; "
        "none: the world as it is set.",
        only=DUELS,
    )
    increment: float = option(
        0.5,
        "Growth of the largest starting distance per level.",
        low=0.01,
        only=("levels.kind", ("smooth",)),
        unit="m",
    )
    start_max: float = option(
        5.0,
        "Largest starting distance of the first level.",
        low=0.1,
        only=("levels.kind", ("smooth",)),
        unit="m",
    )
    final_max: float = option(
        15.0,
        "Largest starting distance of the last level.",
        low=0.1,
        only=("levels.kind", ("smooth",)),
        unit="m",
    )
    obstacles: int = option(
        3,
        "Number of obstacles at levels that have them.",
        low=0,
        only=("levels.kind", ("discrete", "smooth")),
    )
    start_level: int = option(
        0,
        "Index of the first level to play.",
        low=0,
        only=("levels.kind", ("discrete", "smooth")),
    )
    advance: Literal["capture", "balance", "plateau"] = option(
        "balance",
        "When to advance. capture: the first role wins often enough; balance: the win rates are near each other; "
        "plateau: they no longer change.",
        only=("levels.kind", ("discrete", "smooth")),
    )
    capture_threshold: float = option(
        0.7,
        "Win rate of the first role that advances a level with levels.advance = capture.",
        low=0.0,
        high=1.0,
        only=("levels.advance", ("capture",)),
    )
    min_escape: float = option(
        0.0,
        "Win rate of the second role that an advance needs too with levels.advance = capture.",
        low=0.0,
        high=1.0,
        only=("levels.advance", ("capture",)),
    )
    balance_gap: float = option(
        0.15,
        "Largest difference between the win rates with levels.advance = balance.",
        low=0.0,
        high=1.0,
        only=("levels.advance", ("balance",)),
    )
    consecutive: int = option(
        2,
        "Number of evaluations in a row that must pass before an advance.",
        low=1,
        only=("levels.advance", ("balance", "plateau")),
    )


@dataclass(frozen=True)
class LeagueConfig:
    """Opponents of a role: the other role's newest policy, earlier ones, and scripts."""

    expert: ClassVar = True

    size: int = option(
        20,
        "Number of earlier policies kept per role as opponents; 0 keeps none. Raise it where the roles chase "
        "each other in circles.",
        low=0,
        only=DUELS,
    )
    keep: Literal["reservoir", "newest"] = option(
        "reservoir",
        "Which earlier policies stay in the pool: a uniform sample of all that were offered (reservoir), or the "
        "newest.",
        only=DUELS,
    )
    offer_every: int = option(
        1,
        "Number of turns of a role between two offers of its policy to the pool.",
        low=1,
        only=DUELS,
        unit="turns",
    )
    active: int = option(8, "Number of earlier policies met in one turn.", low=1, only=DUELS)
    mix: tuple[float, ...] = option(
        (0.5, 0.4, 0.1),
        "Fractions of episodes against the newest opponent, earlier ones, and scripts.",
        low=0.0,
        only=DUELS,
        example="0.5,0.4,0.1",
    )
    draw: Literal["hard", "variance", "uniform"] = option(
        "hard",
        "Which earlier policies are met: those that win most against the learner (hard), those with even results "
        "(variance), or any (uniform).",
        only=DUELS,
    )


@dataclass(frozen=True)
class HealthConfig:
    """Monitors of self-play: when a role has collapsed or dominates, and how it is rolled back."""

    expert: ClassVar = True

    window: int = option(
        1000,
        "Number of episodes against the newest opponent that the monitored win rate is taken from.",
        low=20,
        only=DUELS,
        unit="episodes",
    )
    low: float = option(0.02, "Win rate below which a role counts as collapsed.", low=0.0, high=1.0, only=DUELS)
    high: float = option(0.98, "Win rate above which a role counts as dominating.", low=0.0, high=1.0, only=DUELS)
    on_domination: Literal["switch", "rollback", "ignore"] = option(
        "switch",
        "Response to domination. switch: end the turn and let the other role learn; rollback: return the "
        "dominating role to an earlier state.",
        only=DUELS,
    )
    bilateral: bool = option(False, "Roll both roles back, from the first time on.", only=DUELS)
    ring_every: int = option(
        10_000,
        "Number of agent-steps between two states kept for rollbacks.",
        low=1,
        only=DUELS,
        unit="agent-steps",
    )
    cooldown: int = option(
        50_000,
        "Number of agent-steps after a rollback before the next one.",
        low=0,
        only=DUELS,
        unit="agent-steps",
    )
    max_per_run: int = option(
        8, "Number of rollbacks of a run; when more are needed the run ends as unstable.", low=0, only=DUELS
    )
    collapse_threshold: float = option(
        0.0,
        "Win rate in evaluations below which a role gets its best state back; 0 disables.",
        low=0.0,
        high=1.0,
        only=DUELS,
        example="0.1",
    )
    collapse_streak: int = option(
        3, "Number of evaluations in a row below health.collapse_threshold before that.", low=1, only=DUELS
    )


@dataclass(frozen=True)
class EwcConfig:
    """Elastic weight consolidation (Kirkpatrick et al. 2017): hold weights that mattered at the level before."""

    expert: ClassVar = True

    strength: float = option(
        0.0,
        "Coefficient of the penalty on changing weights that mattered at the level before; 0 disables.",
        low=0.0,
        only=DUELS,
    )
    keep: Literal["last", "online"] = option(
        "last",
        "Importance of weights from the last level only, or accumulated over levels (online).",
        only=DUELS,
    )
    roles: Roles = option("second", "Roles whose weights are held.", only=DUELS)


@dataclass(frozen=True)
class RndConfig:
    """Random network distillation (Burda et al. 2019): an intrinsic reward for novel observations."""

    expert: ClassVar = True

    coef: float = option(
        0.0,
        "Coefficient of the intrinsic reward for novel observations; 0 disables.",
        low=0.0,
        only=DUELS,
    )
    roles: Roles = option("second", "Roles that receive the intrinsic reward.", only=DUELS)


@dataclass(frozen=True)
class ResponseConfig:
    """The best-response test: can a new learner beat one role while it stands still?"""

    expert: ClassVar = True

    steps: int = option(
        5_000_000,
        "Training length of each challenger in the best-response test; at least as long as its role has learned.",
        low=1,
        free=True,
        unit="agent-steps",
    )
    duels: int = option(
        5000,
        "Number of episodes that a challenger is measured on.",
        low=100,
        free=True,
        unit="episodes",
    )
    entropy: float = option(
        0.002,
        "Upper limit of the challengers' entropy bonus: against one fixed opponent less exploration is needed.",
        low=0.0,
        only=DUELS,
    )
    pass_gap: float = option(
        0.05,
        "Largest gain of a challenger over the role it replaces with which the pair passes the test.",
        low=0.0,
        high=1.0,
        free=True,
    )
    certify: bool = option(
        False,
        "Test candidates during the run and the last pair, so that the run can end as converged.",
        only=DUELS,
    )
    midway: bool = option(
        True,
        "Test candidates during the run too; false tests only the last pair, at the end.",
        only=("response.certify", (True,)),
    )
    rounds: int = option(
        0,
        "Number of further rounds of training, each with a test at its end, while the pair does not pass; 0 disables.",
        low=0,
        high=50,
        only=("response.certify", (True,)),
    )
    anew: bool = option(
        False,
        "Train each round as a whole run from new initial weights instead of extending the pair that did not pass.",
        only=("response.certify", (True,)),
    )
    mends: int = option(
        0,
        "Number of repair rounds in which a pair that was exploited trains on before the next one begins anew.",
        low=0,
        high=50,
        only=("response.certify", (True,)),
    )
    heirs: Literal["none", "first", "second", "both"] = option(
        "none",
        "Roles that continue with the weights of a challenger that exploited them when a round begins.",
        only=("response.certify", (True,)),
    )
    round_share: float = option(
        0.5,
        "Fraction of the joint training time that a round repeats, with its learning rates and entropy bonus.",
        low=0.01,
        high=1.0,
        only=("response.certify", (True,)),
    )
    power: bool = option(
        False,
        "Also let challengers face a planted weakness, a planted loss and scripts, to show that the test would "
        "find them.",
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
