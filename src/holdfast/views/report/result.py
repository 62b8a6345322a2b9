"""The top of a report: how the run ended, one sentence about how good the policy is, and the table behind it."""

from __future__ import annotations

import shlex
from datetime import timedelta

from holdfast.runs.snapshot import planned_iterations
from holdfast.views.report.axes import padded_span, short
from holdfast.views.report.markup import Html, element, joined, section, table
from holdfast.views.report.record import Judged, Record, Score, is_number

LEARNED = "learned"
RESUMABLE = ("interrupted", "killed", "failed")


def interval(score: Score) -> str:
    return f"{short(score.low)} to {short(score.high)}"


def standing(learned: Score, other: Score) -> str:
    """How two means compare, as far as their intervals tell."""
    if learned.low > other.high:
        return "better than"
    if learned.high < other.low:
        return "worse than"
    return "not distinguishable from"


def verdict(record: Record) -> str:
    """One sentence: the learned score with its interval against the best yardstick, on which episodes."""
    judged, where = _last_word(record)
    if judged is None:
        return "Not judged yet: no evaluation is complete."
    learned = judged.scores[LEARNED]
    if record.is_duel:
        said = f"{judged.score_name} {short(learned.mean)} ({interval(learned)})".capitalize()
        return f"{said} in {learned.episodes} duels of the last pair. {_tested(record)}"
    begin = f"{judged.score_name} {short(learned.mean)} ({interval(learned)}) on {learned.episodes} {where}"
    others = {name: score for name, score in judged.scores.items() if name != LEARNED}
    if not others:
        return f"Learned {begin}; no yardstick to compare with."
    name, best = max(others.items(), key=lambda item: item[1].mean)
    compared = f"{standing(learned, best)} the best yardstick, {name}, with {short(best.mean)} ({interval(best)})"
    return f"Learned {begin}: {compared}."


def _tested(record: Record) -> str:
    """What may be said about an equilibrium."""
    found = record.result.get("certificate")
    if not isinstance(found, dict) or not is_number(found.get("gap")) or not is_number(found.get("pass_gap")):
        if any(event.get("event") == "best_response" for event in record.events):
            return "Challengers have tried to beat earlier states of the two; nobody has tried these."
        return "Nobody has tried to beat the two, so nothing is known about an equilibrium."
    words = f"Challengers gain {found['gap']:.3f} at most, {found['pass_gap']:g} is the limit"
    return f"{words}: the best-response test is {found.get('verdict', 'not finished')}."


def _last_word(record: Record) -> tuple[Judged | None, str]:
    """The judgement to quote: held-out episodes where there are any, else the last evaluation during the run."""
    if record.final is not None and LEARNED in record.final.scores:
        return record.final, "held-out episodes"
    latest = latest_evaluation(record)
    if latest is None:
        return None, ""
    yardsticks = record.yardsticks
    name = yardsticks.score_name if yardsticks else "score"
    scores = {LEARNED: latest, **(yardsticks.scores if yardsticks else {})}
    return Judged(record.iteration, name, scores), "episodes used during the run (not held out)"


def latest_evaluation(record: Record) -> Score | None:
    if not record.evaluations:
        return None
    row = record.evaluations[-1]
    mean, low, high, worst = (
        value if is_number(value := row.get(f"evaluation.score{end}")) else row["evaluation.score"]
        for end in ("", "_low", "_high", "_worst")
    )
    episodes = record.config.get("evaluation", {}).get("episodes")
    return Score(mean, low, high, worst, int(episodes) if is_number(episodes) else 0)


def heading(record: Record) -> Html:
    total = record.config.get("run", {}).get("iterations")
    world = str(record.config.get("world", {}).get("name", "unknown world"))
    of = f" of {planned_iterations(int(total), record.events)}" if is_number(total) else ""
    progress = f"{world} · iteration {record.iteration}{of}"
    badge = element("span", record.status, class_=f"badge {record.status.replace(' ', '-')}")
    parts = [
        element("p", progress, class_="kicker"),
        element("h1", record.name, " ", badge),
        element("p", verdict(record), class_="verdict"),
    ]
    if record.status in RESUMABLE:
        parts.append(
            element(
                "p",
                "Go on with it: ",
                element("code", f"holdfast resume {shlex.quote(str(record.folder))}"),
                class_="hint",
            )
        )
    return element("header", *parts)


def tiles(record: Record) -> Html:
    """The run in a few large numbers."""
    last = record.metrics[-1] if record.metrics else {}
    elapsed = record.result.get("elapsed_s", record.timing[-1].get("elapsed_s") if record.timing else None)
    facts = [
        ("agent-steps", last.get("agent_steps"), ""),
        ("training episodes", last.get("episodes"), ""),
        ("agent-steps per s", record.result.get("agent_steps_per_s"), ""),
        ("peak memory", record.result.get("peak_memory_mb"), " MB"),
    ]
    shown = [(name, f"{short(value)}{unit}") for name, value, unit in facts if is_number(value)]
    if is_number(elapsed):
        shown.insert(
            2, ("time of the last process" if record.was_resumed else "time", str(timedelta(seconds=round(elapsed))))
        )
    return element(
        "dl", *(element("div", element("dt", name), element("dd", value)) for name, value in shown), class_="tiles"
    )


def missing_note(record: Record) -> Html:
    if not record.missing:
        return joined()
    items = [element("li", text) for text in record.missing]
    return element("aside", element("strong", "Not there"), element("ul", *items), class_="missing")


def result_section(record: Record) -> Html:
    """Learned and yardsticks on the same held-out episodes."""
    judged, where = _last_word(record)
    if judged is None:
        return section("Result", element("p", "No policy was judged yet.", class_="none"))
    span = padded_span([value for score in judged.scores.values() for value in (score.low, score.high)])

    def whisker(score: Score) -> Html:
        left, right, middle = (span.share(value) for value in (score.low, score.high, score.mean))
        bar = element("i", style=f"left:{left:.2%};width:{max(0.0, right - left):.2%}")
        return element("div", bar, element("b", style=f"left:{middle:.2%}"), class_="whisker")

    rows = [
        [
            element("strong", name) if name == LEARNED else name,
            whisker(score),
            short(score.mean),
            interval(score),
            short(score.worst),
            str(score.episodes),
        ]
        for name, score in sorted(judged.scores.items(), key=lambda item: -item[1].mean)
    ]
    head = ["policy", "", f"mean {judged.score_name}", "95 % interval", "worst episode", "episodes"]
    words = f"All policies play the same {where}."
    if record.is_duel:
        words += " learned-X is the first role against script X, X-learned the script against the second role."
    note = element("p", words, class_="note")
    return section("Result", table(head, rows, numeric=2, class_="result"), note)
