"""Findings about the deck: blocks nobody will reach, warnings to come, reinjections, forced resets (F10)."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.curriculum.bytype import parse_by_type, unknown_types
from holdfast.curriculum.deck_promotion import forecast_with_promotions
from holdfast.curriculum.deck_queue import QueuePlan
from holdfast.curriculum.deck_spec import DeckSettings
from holdfast.curriculum.deck_warning import all_warnings
from holdfast.curriculum.dry_run import Moment
from holdfast.curriculum.findings import Finding, Repair, Severity
from holdfast.curriculum.gate_settings import PER_TYPE, GateSettings, type_option, values_by_type
from holdfast.kit.errors import ConfigError


def deck_findings(
    gate: GateSettings, settings: DeckSettings, queue: QueuePlan, world_steps: int, moments: Sequence[Moment]
) -> list[Finding]:
    """F10. ConfigError for reinjections of a type that the deck does not have."""
    types = [block.type for block in queue.blocks]
    problems = unknown_types(
        parse_by_type(settings.min_reinjections, "deck.min_reinjections"), "deck.min_reinjections", types
    )
    if problems:
        raise ConfigError(problems)
    return [
        *unreached_blocks(queue),
        *types_never_judged(gate, types, moments),
        *warnings_to_come(settings, queue),
        *reinjections(settings, queue),
        *forced_resets(settings, queue, world_steps),
    ]


def unreached_blocks(queue: QueuePlan) -> list[Finding]:
    final = queue.reading(queue.schedule.iterations)
    reached = len(queue.blocks) if final.block is None else queue.blocks.index(final.block) + 1
    if reached == len(queue.blocks) or final.consumed >= final.capacity:
        return []
    missed = queue.blocks[reached:]
    text = (
        f"{len(missed)} of {len(queue.blocks)} blocks are never reached: a school takes {final.consumed} of "
        f"{final.capacity} deals and ends in block {reached} ({final.label}); first missed: {missed[0].label}"
    )
    numbers = {"deals": final.consumed, "capacity": final.capacity, "unreached": [block.number for block in missed]}
    wanted = final.capacity - missed[-1].deals
    repair = _shorter_episodes(queue, wanted, "every block is then reached")
    return [Finding("F10", "unreachable", ("deck.stages",), text, numbers, repair)]


def _shorter_episodes(queue: QueuePlan, deals: int, brings: str) -> Repair | None:
    """The longest forced reset under which a school takes so many deals."""
    last = queue.schedule.iterations
    for steps in range(queue.episode_steps - 1, 0, -1):
        if queue._replace(episode_steps=steps).consumed(last) >= deals:
            return Repair({"deck.force_reset_steps": steps}, brings)
    return None


def types_never_judged(gate: GateSettings, types: Sequence[str], moments: Sequence[Moment]) -> list[Finding]:
    """Values by type that no evaluation will ever ask for."""
    judged = {moment.type for moment in moments}
    found = []
    for key in PER_TYPE:
        for kind in values_by_type(gate, key):
            if kind not in judged and kind in types:
                name = type_option(key, kind)
                text = f"{name} never decides: no evaluation takes place while {kind} is dealt"
                found.append(Finding("F10", "dead", (f"gate.{name}",), text, {"type": kind}))
    return found


def warnings_to_come(settings: DeckSettings, queue: QueuePlan) -> list[Finding]:
    found = []
    for warned in all_warnings(queue.readings(), settings):
        last = warned.iteration + warned.duration - 1
        text = (
            f"the deck will warn in iterations {warned.iteration} to {last}: {warned.ratio:.0%} left in {warned.label}"
        )
        found.append(Finding("F10", "warn", ("deck.warn_ratio",), text, dict(warned._asdict())))
    return found


def reinjections(settings: DeckSettings, queue: QueuePlan) -> list[Finding]:
    """Minimum reinjections against the forecast, with and without blocks moved forward."""
    minimum = parse_by_type(settings.min_reinjections, "deck.min_reinjections")
    plain = queue.reading(queue.schedule.iterations)
    promoted, promotions = forecast_with_promotions(queue, minimum)
    found = []
    for kind, count in minimum.items():
        without, with_moves = plain.reinjections[kind], promoted.reinjections[kind]
        if without >= count:
            continue
        text = f"{kind} comes back {without} times of the {count:g} asked for; {with_moves} with blocks moved forward"
        numbers = {
            "type": kind,
            "minimum": count,
            "reinjections": without,
            "reinjections_legacy": plain.reinjections_legacy[kind],
            "with_promotions": with_moves,
            "promotions": [[iteration, moved.label] for iteration, moved in promotions if moved.type == kind],
        }
        severity: Severity = "warn" if with_moves >= count else "unreachable"
        repair = _more_reinjections(queue, kind, count)
        found.append(Finding("F10", severity, ("deck.min_reinjections",), text, numbers, repair))
    return found


def _more_reinjections(queue: QueuePlan, kind: str, count: float) -> Repair | None:
    for steps in range(queue.episode_steps - 1, 0, -1):
        shorter = queue._replace(episode_steps=steps)
        if shorter.reading(queue.schedule.iterations).reinjections[kind] >= count:
            return Repair({"deck.force_reset_steps": steps}, f"{kind} then comes back {count:g} times")
    return None


def forced_resets(settings: DeckSettings, queue: QueuePlan, world_steps: int) -> list[Finding]:
    """Forced resets that come after the episode's own end, or that no phase is long enough for."""
    forced = settings.force_reset_steps
    longest = max(phase.iterations for phase in queue.schedule.phases) * queue.rollout_steps
    numbers = {"force_reset_steps": forced, "world_steps": world_steps, "longest_phase_steps": longest}
    if forced and forced >= world_steps:
        text = f"force_reset_steps {forced} never acts: episodes end by themselves after {world_steps} steps"
    elif forced > longest:
        text = f"force_reset_steps {forced} never acts: the longest phase has {longest} steps"
    else:
        return []
    repair = Repair({"deck.force_reset_steps": 0}, "remove it")
    return [Finding("F10", "dead", ("deck.force_reset_steps",), text, numbers, repair)]
