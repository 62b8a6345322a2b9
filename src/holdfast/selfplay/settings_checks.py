"""Options of self-play that cannot act as they are set, each with the reason; told together with all other problems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.kit.errors import ConfigError
from holdfast.selfplay.rota import read_schedule
from holdfast.worlds.api import WorldSpec

NOT_IN_SELFPLAY = {
    "run.stop_score": "a score is a balance",
    "rollout.lag": "every role learns from its newest policy",
    "rollout.overlap": "a role's opponents wait for its update",
    "learner.replay": "earlier steps were against other opponents",
    "evaluation.seeds": "all pairs of a run are judged on the same duels",
    "memory.auto": "lanes must stay what they are",
}

Reader = Callable[[Any], bool]

# options, whether they can act, and what it takes
NEEDS: tuple[tuple[tuple[str, ...], Reader, str], ...] = (
    (("duel.boost_turns",), lambda c: c.duel.boost_threshold > 0, "duel.boost_threshold above 0"),
    (("duel.multiplier_when",), lambda c: c.duel.evader_multiplier != 1.0, "duel.evader_multiplier other than 1"),
    (("duel.cold_start_steps",), lambda c: c.duel.cold_start != "none", "duel.cold_start"),
    (
        ("response.round_share", "response.heirs", "response.anew"),
        lambda c: c.response.rounds > 0,
        "response.rounds above 0",
    ),
    (
        ("response.round_share", "response.heirs"),
        lambda c: not c.response.anew or c.response.mends > 0,
        "response.anew = false or response.mends above 0: a round anew is a whole run of its own",
    ),
    (("response.mends",), lambda c: c.response.anew, "response.anew = true: else the pair learns on in every round"),
    (("duel.finish_until",), lambda c: c.duel.finish_share > 0, "duel.finish_share above 0"),
    (("duel.mask_residual",), lambda c: c.duel.mask_steps > 0, "duel.mask_steps above 0"),
    (
        ("duel.evader_first", "duel.warm_start", "duel.mixed_level_ratio"),
        lambda c: c.levels.kind != "none",
        "levels.kind other than none",
    ),
    (
        ("league.keep", "league.offer_every", "league.active", "league.draw"),
        lambda c: c.league.size > 0,
        "league.size above 0",
    ),
    (("ewc.keep", "ewc.roles"), lambda c: c.ewc.strength > 0, "ewc.strength above 0"),
    (("health.collapse_streak",), lambda c: c.health.collapse_threshold > 0, "health.collapse_threshold above 0"),
    (("ewc.strength",), lambda c: c.levels.kind != "none", "levels: weights are held when a level is left"),
    (
        ("rnd.roles",),
        lambda c: c.rnd.coef > 0,
        "rnd.coef above 0",
    ),
)


def duel_problems(config: Any, explicit: frozenset[str], spec: WorldSpec) -> list[str]:
    """All that is wrong about the self-play of this configuration."""
    if config.duel.mode == "off":
        return []
    problems = []
    if len(spec.roles) != 2:
        names = ", ".join(role.name for role in spec.roles)
        problems.append(f"duel.mode = {config.duel.mode} needs a world of two roles; {spec.name} has {names}")
    for options, can_act, wanted in NEEDS:
        for name in options:
            if name in explicit and _is_set(config, name) and not can_act(config):
                problems.append(f"{name} has no effect as it is set; it needs {wanted}: remove it")
    for name, reason in NOT_IN_SELFPLAY.items():
        if _value(config, name) not in (None, False, 0, "fixed"):
            problems.append(f"{name} has no effect in self-play, where {reason}: remove it")
    return problems + _arithmetic(config, explicit, spec)


def _is_set(config: Any, name: str) -> bool:
    """Written down with a value that would do something."""
    return _value(config, name) not in (False, 0, 0.0, "none")


def _value(config: Any, name: str) -> Any:
    section, _, key = name.partition(".")
    return getattr(getattr(config, section), key)


def _arithmetic(config: Any, explicit: frozenset[str], spec: WorldSpec) -> list[str]:
    problems = []
    rollout = config.rollout.lanes * config.rollout.steps * min((role.agents for role in spec.roles), default=1)
    if config.duel.warmup and config.duel.turn_steps <= rollout:
        problems.append(
            f"duel.warmup has no effect: a turn of {config.duel.turn_steps} steps is a single rollout of {rollout}"
        )
    problems += _finish_problems(config) + _round_problems(config)
    mix = config.league.mix
    if len(mix) != 3 or abs(sum(mix) - 1.0) > 1e-6:
        problems.append(f"league.mix = {','.join(map(str, mix))}: three shares that add up to 1 are needed")
    elif config.league.size == 0 and "league.mix" in explicit and mix[1] > 0.0:
        problems.append("league.mix gives earlier policies a share while league.size = 0 keeps none: set it to 0")
    levels = config.levels
    if levels.kind == "smooth" and levels.start_max > levels.final_max:
        problems.append(f"levels.start_max = {levels.start_max} is above levels.final_max = {levels.final_max}")
    if config.health.low >= config.health.high:
        problems.append(f"health.low = {config.health.low} must be below health.high = {config.health.high}")
    try:
        read_schedule(config.duel.freeze_schedule)
    except ConfigError as error:
        problems += error.problems
    return problems


def _finish_problems(config: Any) -> list[str]:
    duel, whole = config.duel, config.run.iterations
    if duel.finish_share == 0.0:
        return []
    against = {
        "duel.max_turns": (duel.max_turns > 0, "it is a share of run.iterations"),
        "duel.freeze_role": (duel.freeze_role != "none", "who learns is settled already"),
    }
    problems = [
        f"{name} does not go with duel.finish_share: {reason}" for name, (is_set, reason) in against.items() if is_set
    ]
    asked = round(duel.finish_share * whole)
    if asked < 1:
        problems.append(f"duel.finish_share = {duel.finish_share} is no iteration of run.iterations = {whole}")
    elif asked >= whole:
        problems.append(
            f"duel.finish_share = {duel.finish_share} leaves no iteration of run.iterations = {whole} in which both "
            "roles learn"
        )
    return problems


def _round_problems(config: Any) -> list[str]:
    duel, response = config.duel, config.response
    if not response.certify or response.rounds == 0:
        return []
    found = []
    if duel.max_turns > 0:
        found.append("duel.max_turns does not go with response.rounds: rounds begin after run.iterations")
    if response.anew:
        found += _once_problems(config)
        if response.mends >= response.rounds:
            found.append(
                f"response.mends = {response.mends} of response.rounds = {response.rounds} leave no round for "
                "response.anew"
            )
    return found


def _once_problems(config: Any) -> list[str]:
    """What roles that begin anew would not have again."""
    once = {
        "duel.cold_start": (config.duel.cold_start != "none", "only the first roles would have the exercise"),
        "ewc.strength": (config.ewc.strength > 0, "weights would be held at what earlier roles were"),
    }
    return [f"{name} does not go with response.anew: {reason}" for name, (is_set, reason) in once.items() if is_set]
