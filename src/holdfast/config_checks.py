"""Checks across options: what has no effect in the chosen setting, and arithmetic that cannot work out."""

from __future__ import annotations

from holdfast.config import Config, flat, known_options
from holdfast.errors import ConfigError
from holdfast.worlds.api import Role, WorldSpec


def without_effect(config: Config, explicit: frozenset[str], facts: dict[str, str]) -> list[str]:
    """Options set on purpose that nothing reads while another option (or a fact about the world) is as it is."""
    values, known = {**flat(config), **facts}, known_options(type(config.world))
    problems = []
    for key in sorted(explicit):
        only = known[key].only
        if only is None or only[0] not in values:
            continue
        governing, allowed = only
        if values[governing] not in allowed:
            wanted = " or ".join(str(value) for value in allowed)
            now = values[governing]
            problems.append(f"{key} has no effect while {governing} is {now}, only with {wanted}: remove it")
    return problems


def check_against_world(config: Config, explicit: frozenset[str], spec: WorldSpec) -> None:
    """Errors that only show once the world is known: batch arithmetic, and options its spaces make idle."""
    problems = [problem for role in spec.roles for problem in _role_problems(config, explicit, role)]
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))


def _role_problems(config: Config, explicit: frozenset[str], role: Role) -> list[str]:
    sight = role.observations
    facts = {
        "actions": type(role.actions).__name__.lower(),
        "observations": "image" if sight.is_image else "vector",
    }
    problems = without_effect(config, explicit, facts) + _batch_problems(config, role)
    plain = facts["actions"] == "discrete" and facts["observations"] == "vector"
    if config.learner.engine == "fused" and not (plain and config.policy.core == "none" and config.policy.separate):
        problems.append(
            "learner.engine = fused needs vectors, one discrete choice, policy.core = none, policy.separate = true; "
            f"{role.name} has {facts['observations']} observations and {facts['actions']} actions: use auto"
        )
    if config.policy.network == "cnn" and not sight.is_image:
        problems.append(
            f"policy.network = cnn needs images of bytes; {role.name} sees {sight.dtype}{list(sight.shape)}"
        )
    return problems


def _batch_problems(config: Config, role: Role) -> list[str]:
    lanes, steps, minibatch = config.rollout.lanes, config.rollout.steps, config.learner.minibatch
    rows = lanes * steps * role.agents
    arithmetic = f"{lanes} lanes x {steps} steps x {role.agents} {role.name} = {rows} agent-steps"
    if config.policy.core == "gru":
        if minibatch % steps or (rows // steps) % (minibatch // steps):
            return [f"learner.minibatch = {minibatch} must be whole rollouts of {steps} steps that divide {arithmetic}"]
        return []
    if rows % minibatch:
        best = min((size for size in range(1, rows + 1) if rows % size == 0), key=lambda size: abs(size - minibatch))
        return [f"learner.minibatch = {minibatch} does not divide {arithmetic}; the nearest that does is {best}"]
    return []
