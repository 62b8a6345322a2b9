"""What a run would do, without doing it: the resolved configuration, sizes, memory and evaluations to come."""

from __future__ import annotations

import json
from typing import Any

from holdfast.config.catalogue import as_typed
from holdfast.config.checks import acting, check_against_world
from holdfast.config.sections import Config, options_known, to_json
from holdfast.learner.batch import make_batch
from holdfast.learner.policy import Policy
from holdfast.runs.supervised import supervised
from holdfast.selfplay.schedule import mending_length, round_length
from holdfast.state import WEIGHTS, torch_generator
from holdfast.worlds.api import WorldSpec
from holdfast.worlds.registry import known_spec, light, make_world

WIDTH = 110


def spec_of(config: Config) -> WorldSpec:
    """The world's spec, by making the world once with one lane."""
    with supervised(config) as supervisor:
        world = make_world(config.world_name, light(config.world), 1, config.run.seed, supervisor=supervisor)
        world.close()
    return world.spec


def checked_spec(config: Config, explicit: frozenset[str]) -> WorldSpec:
    """The world's spec once all options fit it; what can be refused before kernels are compiled is."""
    known = known_spec(config)
    if known is not None:
        check_against_world(config, explicit, known)
    spec = spec_of(config)
    check_against_world(config, explicit, spec)
    return spec


def facts(config: Config, spec: WorldSpec) -> dict[str, Any]:
    lanes, steps, iterations = config.rollout.lanes, config.rollout.steps, config.run.iterations
    roles: dict[str, Any] = {}
    for role in (role.discretized(config.policy.grid) for role in spec.roles):
        policy = Policy(role, config.policy, torch_generator(config.run.seed, WEIGHTS))
        batch = make_batch(role, 1, steps, policy.core_size)
        per_lane = sum(tensor.numel() * tensor.element_size() for tensor in batch)
        rows = lanes * steps * role.agents
        roles[role.name] = {
            "agents": role.agents,
            "observations": list(role.observations.shape),
            "actions": str(role.actions),
            "parameters": sum(parameter.numel() for parameter in policy.parameters()),
            "agent_steps_per_iteration": rows,
            "gradient_steps_per_iteration": -(
                -config.learner.epochs * max(1, rows // config.learner.minibatch) // config.learner.grad_accum
            ),
            "batch_mb": round(per_lane * lanes / 1e6, 2),
        }
    every, rounds = config.evaluation.every, config.response.rounds if config.response.certify else 0
    learners = [role["agent_steps_per_iteration"] for role in roles.values()]
    return {
        "roles": roles,
        "agent_steps": sum(learners) * (iterations + rounds * round_length(config)),
        "evaluations_at": [i for i in range(1, iterations + 1) if every and i % every == 0],
        "evaluation_episodes": config.evaluation.episodes,
        "final_episodes": config.evaluation.final_episodes,
        "challengers_at_least": config.response.steps if config.response.certify else None,
        "rounds": rounds,
        "checkpoints_at": [i for i in range(1, iterations + 1) if i % config.checkpoint.every == 0 or i == iterations],
    }


def dry_run(config: Config, spec: WorldSpec, as_json: bool) -> int:
    content = {"config": to_json(config), **facts(config, spec)}
    if as_json:
        print(json.dumps(content))
        return 0
    print(f"world {config.world_name}; options that act here (* differs from the default):")
    for section, options in _acting(config, spec).items():
        print(_wrapped(f"{section:<11}", options))
    for name, role in content["roles"].items():
        print(_wrapped(f"role {name}: ", [f"{key.replace('_', ' ')} {value}" for key, value in role.items()]))
    print(f"agent-steps in all: at most {content['agent_steps']:,}")
    when = _shortened(content["evaluations_at"])
    print(f"evaluations of {content['evaluation_episodes']} episodes at iterations: {when}")
    print(f"final evaluation: {content['final_episodes']} episodes on held-out seeds")
    if content["challengers_at_least"] is not None:
        least = f"at least {content['challengers_at_least']:,} agent-steps each"
        print(f"best-response test in the end: up to 4 challengers who learn as long as the roles did, {least}")
    if content["rounds"]:
        print(f"while the pair does not pass: up to {content['rounds']} rounds of {_rounds_of(config)}")
    print(f"checkpoints at iterations: {_shortened(content['checkpoints_at'])}")
    print("nothing was run")
    return 0


def _acting(config: Config, spec: WorldSpec) -> dict[str, list[str]]:
    """By section: the options that have an effect, as `lr = 0.001`."""
    known = options_known(config)
    actions = spec.roles[0].discretized(config.policy.grid).actions
    found: dict[str, list[str]] = {}
    for name, value in acting(config, {"actions": type(actions).__name__.lower()}).items():
        section, _, key = name.partition(".")
        if name in known:
            mark = "" if value == known[name].default else "*"
            found.setdefault(section, []).append(f"{key}{mark} = {as_typed(value) or 'empty'}")
    return found


def _wrapped(head: str, parts: list[str]) -> str:
    """Parts after a heading, on as many lines as they need."""
    lines, line = [], head
    for number, part in enumerate(parts, start=1):
        piece = part if number == len(parts) else f"{part}, "
        if len(line) + len(piece.rstrip()) > WIDTH and line.strip() and line != head:
            lines.append(line.rstrip())
            line = " " * len(head)
        line += piece
    return "\n".join([*lines, line])


def _rounds_of(config: Config) -> str:
    """How long they are."""
    if not config.response.anew:
        return f"{mending_length(config)} iterations"
    mends = config.response.mends
    first = f"{mending_length(config)} iterations, {mends} for each pair that is outdone, or of " if mends else ""
    return f"{first}{round_length(config)} iterations from other first weights"


def _shortened(numbers: list[int]) -> str:
    shown = [str(number) for number in numbers]
    return ", ".join(shown if len(shown) <= 12 else [*shown[:5], "...", *shown[-2:]]) or "none"
