"""What happened, in a sentence: the events of a run as a reader would tell them, for every view with a timeline.

Streams may hold what other versions wrote, so every fact may be missing or of another kind; an event that is not known
here is told by its facts.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

from holdfast.views.report.axes import short

LONGEST = 400
DEEPEST = 8  # levels of lists and tables that are told
MOMENT = ("event", "time", "iteration")  # shown beside the words
GATE = {
    "advance": "went up to level {after}",
    "rollback": "went back to level {after}",
    "failure_hold": "held level {after} after a failure",
    "locked": "stayed locked at level {after}",
    "frozen": "stayed frozen at level {after}",
    "success_progress": "counted a success at level {after}",
    "noop": "stayed at level {after}",
}
PLAIN = {  # event: its sentence, for those whose facts are few and simple
    "monitor failed": "The monitor failed, the run went on without it: {error}: {text}",
    "slow step": "A step of all lanes took {step_s} s; {limit_s} s is the limit",
    "stall": "No sign of life for {idle_s} s in phase {phase}; stacks are in {trace}",
    "slow_step": "Slow steps in phase {phase}; stacks are in {trace}",
    "deck_warning": "Deck block {label} runs low: {remaining} situations ({ratio}) are left",
    "forced_switch": "The turn was passed on from {active} by force",
    "offered": "{role}: policy {policy} joined the pool",
    "challenged": "{role}: the challenger {policy} joined the pool",
    "collapse": "{role} won only {rate} (less than {threshold}) and got policy {policy} back",
    "restored": "{role} got its best policy of level {level} back",
    "ewc": "{role} will hold on to what mattered at level {level}",
    "ewc_skipped": "{role} has nothing of level {level} to hold on to: {because}",
    "finish": "{role} goes on alone against the other one's frozen policy",
    "finished_early": "{role} wins {rate}, {wanted} were wanted: its finish ends early",
    "round": "Round {number} of {of} begins and lasts until iteration {until}",
    "unfinished": "The last phase is not over: the run goes on until iteration {until}",
    "generation": "Both roles began anew: generation {generation} of {of}",
    "heir": "{role} goes on as its challenger, which won {rate}",
    "challenger": "A challenger of {who} wins {rate} after {steps} agent-steps",
    "non_finite": "{role} met a number that is not finite: {text}",
    "rollback_held": "{role} was not rolled back: {because}",
    "unstable": "The run is unstable: {because}",
    "rnd_warning": "{role}: the bonus for new observations is off (mean {mean}, with length {length_correlation})",
    "explored": "Explored {steps} steps: {cells} cells, {ways_to_the_end} ways to the end, {moments} moments kept",
    "adapted": "{name} went from {before} to {after}, at an average of {average}",
    "finished": "The run came to its end",
    "solved": "The goal was reached",
    "converged": "The run converged: {because}",
}

Event = dict[str, Any]


def told(event: Event) -> str:
    """The event in words, short enough for a line or two; empty when its name says it all."""
    kind = event.get("event")
    if not isinstance(kind, str):
        words = plainly(event)
    elif kind in TELLERS:
        words = TELLERS[kind](event)
    elif kind in PLAIN:
        words = _filled(PLAIN[kind], event)
    else:
        words = plainly({name: fact for name, fact in event.items() if name not in MOMENT})
    return words if len(words) <= LONGEST else words[:LONGEST] + " …"


def plainly(fact: Any, depth: int = 0) -> str:
    """Any JSON value as words: names before their values, numbers short, what is very deep left out."""
    match fact:
        case dict() | list() if depth == DEEPEST:
            return "…"
        case dict():
            return ", ".join(f"{name} {plainly(inside, depth + 1)}" for name, inside in fact.items())
        case list():
            return "; ".join(plainly(inside, depth + 1) for inside in fact)
        case None:
            return "none"
        case bool():
            return "yes" if fact else "no"
    return short(fact) if is_number(fact) else str(fact)


def is_number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300  # type: ignore[arg-type]


def _filled(sentence: str, event: Event) -> str:
    """The part of the sentence whose facts are there."""
    known = _Facts({name: plainly(fact) for name, fact in event.items()})
    words = sentence.format_map(known)
    return words if not known.missing else plainly({k: v for k, v in event.items() if k not in MOMENT})


class _Facts(dict[str, str]):
    """Notes that a fact was asked for in vain."""

    missing = False

    def __missing__(self, name: str) -> str:
        self.missing = True
        return ""


# --- one teller per kind ---------------------------------------------------------------------------------------------


def _begun(event: Event) -> str:
    notes = event.get("notes")
    return "; ".join(str(note) for note in notes) if isinstance(notes, list) else ""


def _interrupted(event: Event) -> str:
    number = event.get("signal")
    known = {member.value: member.name for member in signal.Signals}
    return known.get(number, f"signal {number}") if isinstance(number, int) else ""


def _failed(event: Event) -> str:
    return f"{event.get('error')}: {event.get('text')}"


def _evaluation(event: Event) -> str:
    score = event.get("score")
    if isinstance(score, dict) and is_number(score.get("mean")):
        words = f"Score {short(score['mean'])}{_interval(score)}"
        if is_number(score.get("worst")):
            words += f", worst episode {short(score['worst'])}"
        return words + _best(event)
    if is_number(event.get("wins")) and is_number(event.get("duels")):
        words = f"The first role won {short(event['wins'])} of {short(event['duels'])} duels{_interval(event)}"
        return f"{words}; {event['verdict']}" if isinstance(event.get("verdict"), str) else words
    return plainly({name: fact for name, fact in event.items() if name not in MOMENT})


def _best(event: Event) -> str:
    best, goal = event.get("best"), event.get("goal")
    words = f"; best so far {short(best)}" if is_number(best) else ""  # type: ignore[arg-type]
    if event.get("solved") is True and is_number(goal):
        words += f"; the goal of {short(goal)} is reached"  # type: ignore[arg-type]
    return words


def _interval(found: Event) -> str:
    low, high = found.get("low"), found.get("high")
    return f" ({short(low)} to {short(high)})" if is_number(low) and is_number(high) else ""  # type: ignore[arg-type]


def _checkpoint(event: Event) -> str:
    return "Saved, the best so far" if event.get("best") is True else "Saved"


def _gate(event: Event) -> str:
    """The decision with what decided it."""
    decision = event.get("decision")
    level = decision.get("level") if isinstance(decision, dict) else None
    if not isinstance(decision, dict) or not isinstance(level, dict):
        return plainly(decision)
    sentence = GATE.get(str(decision.get("event")), f"{decision.get('event')} at level {{after}}")
    words = f"The gate {sentence.format(after=plainly(level.get('after')))}"
    because = decision.get("because")
    return f"{words}: {because}" if because else words


def _phase(event: Event) -> str:
    before, after = event.get("before"), event.get("after")
    if not isinstance(before, dict) or not isinstance(after, dict):
        return plainly({"before": before, "after": after})
    changed = [
        f"{name} {plainly(before.get(name))} to {plainly(value)}"
        for name, value in after.items()
        if name != "phase" and before.get(name) != value
    ]
    words = f"Phase {plainly(after.get('phase'))} begins: {', '.join(changed) or 'nothing else changes'}"
    return f"{words}; all episodes begin anew" if event.get("restarted") is True else words


def _harvest(event: Event) -> str:
    where = "the evaluation" if event.get("from_evaluation") is True else "training"
    file = f", in {event['file']}" if event.get("file") else ""
    return f"Kept {plainly(event.get('situations'))} situations from before losses in {where}{file}"


def _promotion(event: Event) -> str:
    verb = "moved forward" if event.get("moved") is True else "repeated"
    return f"Deck block {event.get('label')} was {verb}, after {event.get('after')}"


def _hint(event: Event) -> str:
    return str(event.get("text", ""))


def _turn(event: Event) -> str:
    roles = event.get("roles")
    names = " and ".join(map(str, roles)) if isinstance(roles, list) else plainly(roles)
    stage = {"exercise": "practises from a cold start", "warm": "starts warm"}.get(str(event.get("stage")), "learns")
    level = f" at level {plainly(event.get('level'))}" if event.get("level") is not None else ""
    return f"{names} {stage}{level}"


def _moved(event: Event) -> str:
    verb = "up" if event.get("event") == "advance" else "back"
    label = f" ({event['label']})" if event.get("label") else ""
    because = f": {event['because']}" if event.get("because") else ""
    return f"Self-play went {verb} to level {plainly(event.get('level'))}{label}{because}"


def _alarm(event: Event) -> str:
    reasons = event.get("reasons")
    return "; ".join(map(str, reasons)) if isinstance(reasons, list) else plainly(reasons)


def _best_response(event: Event) -> str:
    verdict = f"; the test is {event['verdict']}" if isinstance(event.get("verdict"), str) else ""
    limit = f", {short(event['pass_gap'])} is the limit" if is_number(event.get("pass_gap")) else ""
    return f"Challengers gain {plainly(event.get('gap'))} at most{limit}{verdict}"


def _rollback(event: Event) -> str:
    role = event.get("role", "a role")
    because = event.get("because") or (event.get("diagnosis") or {})
    return f"{role} went back to an earlier policy: {plainly(because)}" if because else f"{role} went back"


TELLERS: dict[str, Callable[[Event], str]] = {
    "started": _begun,
    "resumed": _begun,
    "interrupted": _interrupted,
    "failed": _failed,
    "evaluation": _evaluation,
    "checkpoint": _checkpoint,
    "gate": _gate,
    "phase": _phase,
    "harvest": _harvest,
    "promotion": _promotion,
    "hint": _hint,
    "turn": _turn,
    "advance": _moved,
    "regress": _moved,
    "alarm": _alarm,
    "best_response": _best_response,
    "rollback": _rollback,
}
