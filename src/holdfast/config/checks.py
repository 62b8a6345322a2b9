"""Checks across options: what has no effect in the chosen setting, and arithmetic that cannot work out."""

from __future__ import annotations

from typing import Any

from holdfast.config.options import allows, wanted
from holdfast.config.sections import Config, flat, options_known
from holdfast.kit.errors import ConfigError
from holdfast.learner.algorithms import ALGORITHMS
from holdfast.learner.engines import ENGINES, obstacles
from holdfast.learner.schedules import LONGEST_WARMUP, rises_again
from holdfast.selfplay.settings_checks import duel_problems
from holdfast.worlds.api import Role, WorldSpec
from holdfast.worlds.game import Game
from holdfast.worlds.registry import game_of
from holdfast.worlds.spaces import HISTORY, LIDAR, Grid

SMALLEST = {"pixels-small": 20}  # side of a picture in pixels; padding lets the other networks see any size


def without_effect(config: Config, explicit: frozenset[str], facts: dict[str, str]) -> list[str]:
    """Options set on purpose that nothing reads while another option (or a fact about the world) is as it is."""
    values, known = {**flat(config), **facts}, options_known(config)
    problems = []
    for key in sorted(explicit):
        only = known[key].only
        if only is None:
            continue
        governing, allowed = only
        if governing not in values:
            if governing.startswith("world."):
                problems.append(f"{key} has no effect: world {config.world_name} has no option {governing}: remove it")
            continue  # a fact that is not known yet
        if not allows(allowed, values[governing]):
            now = wanted((values[governing],)) or "empty"
            problems.append(f"{key} has no effect while {governing} is {now}, only with {wanted(allowed)}: remove it")
    return problems


CURRICULUM = ("schedule", "gate", "deck", "harvest", "starts", "adaptive")  # tools that a game's curriculum may use


def idle_curriculum(config: Config, explicit: frozenset[str], game: Game) -> list[str]:
    """Tools of the curriculum set on purpose that the game does not use."""
    idle = [key for key in sorted(explicit) if _section(key) in CURRICULUM and _section(key) not in game.uses]
    return [f"{key} has no effect in world {config.world_name}: remove it" for key in idle]


def _section(key: str) -> str:
    return key.partition(".")[0]


def acting(config: Config, facts: dict[str, str]) -> dict[str, Any]:
    """The options that have an effect in this configuration, by name."""
    values, known = flat(config), options_known(config)
    game = game_of(config)
    unused = {name for name in CURRICULUM if name not in game.uses}

    def acts(key: str) -> bool:
        only = known[key].only if key in known else None
        if _section(key) in unused:
            return False
        if only is None or only[0] not in {**values, **facts}:
            return only is None or not only[0].startswith("world.")
        governed = only[0] not in known or acts(only[0])
        return governed and allows(only[1], {**values, **facts}[only[0]])

    return {key: value for key, value in values.items() if acts(key)}


def check_against_world(config: Config, explicit: frozenset[str], spec: WorldSpec) -> None:
    """Errors that only show once the world is known: batch arithmetic, and options its spaces make idle."""
    roles = [role.discretized(config.policy.grid) for role in spec.roles]
    problems = [problem for role in roles for problem in _role_problems(config, explicit, role)]
    game = game_of(config)
    problems += idle_curriculum(config, explicit, game)
    problems += game.check(config, explicit) if game.check is not None else []
    problems += duel_problems(config, explicit, spec) + _learner_problems(config)
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))


def _learner_problems(config: Config) -> list[str]:
    problems, longest = [], int(LONGEST_WARMUP * config.run.iterations)
    if config.learner.warmup > longest:
        problems.append(
            f"learner.warmup = {config.learner.warmup} is more than a fifth of {config.run.iterations} iterations: "
            f"at most {longest}"
        )
    if config.learner.lr_restart > 0.0 and config.learner.lr_schedule == "constant":
        problems.append(
            f"learner.lr_restart = {config.learner.lr_restart:g} begins a falling rate anew, learner.lr_schedule = "
            "constant does not fall: use one of the two"
        )
    if config.learner.lr_restart > 0.0 and not rises_again(config.run.iterations, config.learner.lr_restart):
        problems.append(
            f"learner.lr_restart = {config.learner.lr_restart:g} of {config.run.iterations} iterations is too little "
            "for the rate to rise again: more iterations, a larger share, or 0 for none"
        )
    if config.learner.entropy_share < 1.0 and config.learner.entropy_final is None:
        problems.append(
            f"learner.entropy_share = {config.learner.entropy_share:g} says when the reward for undecided policies has "
            "reached its end: give learner.entropy_final"
        )
    if config.learner.replay and config.policy.core != "none":
        problems.append(
            f"learner.replay = true replays single steps, policy.core = {config.policy.core} needs whole episodes: "
            "use one of the two"
        )
    if config.starts.backward and config.starts.along:
        problems.append("starts.backward and starts.along both say where on the way episodes begin: use one of the two")
    if config.starts.imitate > 0.0 and config.policy.core != "none":
        problems.append(
            f"starts.imitate = {config.starts.imitate:g} shows single moments, policy.core = {config.policy.core} "
            "needs what came before them: use one of the two"
        )
    return problems


def _role_problems(config: Config, explicit: frozenset[str], role: Role) -> list[str]:
    sight = role.observations
    facts = {
        "actions": type(role.actions).__name__.lower(),
        "observations": "image" if sight.is_image else "vector",
    }
    problems = without_effect(config, explicit, facts) + _batch_problems(config, role)
    engine = config.learner.engine
    if engine in ENGINES and (reasons := obstacles(engine, role, config.policy, config.learner)):
        problems.append(f"learner.engine = {engine} cannot do {', '.join(reasons)}: use auto or torch")
    return problems + _grid_problems(role) + _network_problems(config, role)


def _grid_problems(role: Role) -> list[str]:
    actions = role.actions
    if not isinstance(actions, Grid) or len(actions.counts) == len(actions.low):
        return []
    given = ",".join(map(str, actions.counts))
    return [f"policy.grid = {given}: an action of {role.name} is {len(actions.low)} numbers, each needs a count"]


def _network_problems(config: Config, role: Role) -> list[str]:
    sight, network, problems = role.observations, config.policy.network, []
    looks = sight.is_image and network not in ("mlp", "parts")
    if network == "parts":
        problems += _looking_problems(config, role)
    elif sight.believed:
        problems.append("world.belief = true has no effect without policy.network = parts and policy.encoder = belief")
    if network not in ("auto", "mlp", "parts") and not sight.is_image:
        problems.append(
            f"policy.network = {network} needs images of bytes; {role.name} sees {sight.dtype}{list(sight.shape)}"
        )
    elif looks and min(sight.shape[:2]) < SMALLEST.get(network, 1):
        problems.append(
            f"policy.network = {network} needs pictures of {SMALLEST[network]} pixels or more; {role.name} sees "
            f"{sight.shape[0]} x {sight.shape[1]}: use cnn"
        )
    if sight.judging and (config.policy.core != "none" or not config.policy.separate):
        shared = "policy.separate = false" if config.policy.core == "none" else f"policy.core = {config.policy.core}"
        problems.append(
            f"{role.name} has {sight.judging} numbers for values only, but with {shared} values are learned from what "
            "choices are made from"
        )
    if config.policy.norm == "group" and not looks:
        problems.append(f"policy.norm = group has no effect: {role.name} looks without convolutions; use layer")
    return problems


def _looking_problems(config: Config, role: Role) -> list[str]:
    sight, encoder = role.observations, config.policy.encoder
    names = {name for name, _ in sight.parts}
    if not names & {LIDAR, HISTORY}:
        return [f"policy.network = parts needs a lidar or a history to look at; {role.name} sees {list(sight.shape)}"]
    problems = []
    if HISTORY not in names and encoder != "mlp":
        problems.append(f"policy.encoder = {encoder} sums up a history; {role.name} has none")
    if (encoder == "belief") != (sight.believed > 0):
        problems.append(
            "policy.encoder = belief and world.belief = true need each other: a belief learns from where the other is"
        )
    if encoder == "belief" and not ALGORITHMS[config.learner.algorithm].believes:
        able = " or ".join(name for name, algorithm in ALGORITHMS.items() if algorithm.believes)
        problems.append(f"policy.encoder = belief learns with {able}, not with {config.learner.algorithm}")
    return problems


def _batch_problems(config: Config, role: Role) -> list[str]:
    lanes, steps, minibatch = config.rollout.lanes, config.rollout.steps, config.learner.minibatch
    rows = lanes * steps * role.agents
    arithmetic = f"{lanes} lanes x {steps} steps x {role.agents} {role.name} = {rows} agent-steps"
    if config.policy.core != "none" or ALGORITHMS[config.learner.algorithm].whole_rollouts:
        if minibatch % steps or (rows // steps) % (minibatch // steps):
            return [f"learner.minibatch = {minibatch} must be whole rollouts of {steps} steps that divide {arithmetic}"]
        return []
    if rows % minibatch:
        best = min((size for size in range(1, rows + 1) if rows % size == 0), key=lambda size: abs(size - minibatch))
        return [f"learner.minibatch = {minibatch} does not divide {arithmetic}; the nearest that does is {best}"]
    return []
