"""What the file of one certified seed says: gaps with their intervals, the verdict, and the table over seeds."""

from __future__ import annotations

from typing import Any

from holdfast.kit.intervals import newcombe, wilson
from holdfast.selfplay.power import SLACK
from holdfast.selfplay.rota import FIRST, SECOND

NAMES = ("pursuer", "evader")
ORDER = ((FIRST, "incumbent"), (SECOND, "incumbent"), (FIRST, "scratch"), (SECOND, "scratch"))
FURTHER = "further"  # where a row keeps the same facts about the pair after more training
Row = dict[str, Any]
Gap = tuple[float, float, float]  # with its interval


def challenger_name(role: int, start: str) -> str:
    return f"{NAMES[role]} {start}"


def own_wins(row: Row, role: int) -> tuple[int, int]:
    wins, duels = int(row["wins"]), int(row["duels"])
    return (wins if role == FIRST else duels - wins), duels


def gap_of(row: Row, role: int) -> Gap | None:
    """The larger gain of a role's challengers; none before the first."""
    own = own_wins(row, role)
    tried = [row["challengers"].get(challenger_name(role, start)) for start in ("incumbent", "scratch")]
    done = [(one["wins"], one["duels"]) for one in tried if one]
    if not done:
        return None
    best = max(done)
    return (best[0] / best[1] - own[0] / own[1], *newcombe(best, own))


def gaps_of(row: Row) -> list[Gap]:
    """Those that are known."""
    return [gap for gap in (gap_of(row, FIRST), gap_of(row, SECOND)) if gap is not None]


def is_failed(row: Row, pass_gap: float) -> bool:
    return any(gap[0] > pass_gap for gap in gaps_of(row))


def verdict(row: Row, pass_gap: float) -> str:
    if is_failed(row, pass_gap):
        return "failed"
    if row["alarms"]:
        return "alarm"
    if len(row["challengers"]) < len(ORDER):
        return "not finished"
    if power_of(row).startswith("not"):
        return "inconclusive"
    if FURTHER in row and is_failed(row[FURTHER], pass_gap):
        return "drifted"
    tried = [(row["trained"][role], row["challengers"][challenger_name(role, start)]) for role, start in ORDER]
    long = all(one["steps"] >= trained for trained, one in tried)
    return "passed" if long and all(gap[0] >= -SLACK for gap in gaps_of(row)) else "inconclusive"


def is_strict(row: Row, pass_gap: float) -> bool:
    """Passed, and the upper limits of both gaps are within the limit too."""
    return verdict(row, pass_gap) == "passed" and all(gap[2] <= pass_gap for gap in gaps_of(row))


def power_of(row: Row) -> str:
    """Which parts of the power check are passed; none before the first."""
    checks = {part: bool(facts.get("found", facts.get("passed"))) for part, facts in row.get("power", {}).items()}
    failed = [part for part, passed in checks.items() if not passed]
    return f"not: {', '.join(failed)}" if failed else f"{len(checks)} of 4" if checks else "-"


def told(gap: Gap | None) -> str:
    return "-" if gap is None else f"{gap[0]:+.3f} [{gap[1]:+.3f}, {gap[2]:+.3f}]"


def further_of(row: Row) -> str:
    """Both gaps after a further tenth of training."""
    found = row.get(FURTHER)
    return "-" if found is None else " / ".join(told(gap_of(found, role)).split(" ")[0] for role in (FIRST, SECOND))


def own_tests_of(row: Row) -> str:
    """The gaps that a run's own tests found, one after the other, and what the last one said of each role."""
    tests = row.get("rounds", [])
    if not tests:
        return "-"
    gaps = ", ".join(f"{test['gap']:.3f}" for test in tests)
    each = " / ".join(told((gap[0], gap[1], gap[2])) for gap in tests[-1].get("gaps", {}).values())
    return f"{gaps}: {tests[-1]['verdict']}" + (f" ({each})" if each else "")


def table(rows: list[Row], pass_gap: float) -> str:
    lines = [
        "| seed | own tests | c | gap of the pursuer | gap of the evader | challengers | power | a tenth further "
        "| verdict |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        low, high = wilson(row["wins"], row["duels"])
        rate = f"{row['wins'] / row['duels']:.3f} [{low:.3f}, {high:.3f}]"
        gaps = (told(gap_of(row, FIRST)), told(gap_of(row, SECOND)))
        proofs = (len(row["challengers"]), power_of(row), further_of(row))
        words = (row["seed"], own_tests_of(row), rate, *gaps, *proofs, verdict(row, pass_gap))
        lines.append(f"| {' | '.join(map(str, words))} |")
    passed = sum(verdict(row, pass_gap) == "passed" for row in rows)
    strict = sum(is_strict(row, pass_gap) for row in rows)
    low, high = wilson(passed, len(rows)) if rows else (0.0, 1.0)
    told_rollbacks = f"rollbacks: {', '.join(str(row['rollbacks']) for row in rows) or '-'}"
    counted = f"passed: {passed} of {len(rows)} [{low:.2f}, {high:.2f}]; with upper limits within it too: {strict}"
    return "\n".join([*lines, "", counted, *own_verdicts(rows, pass_gap), told_rollbacks])


def own_verdicts(rows: list[Row], pass_gap: float) -> list[str]:
    """How many runs converged by the tests that they made themselves, and how long those took with them."""
    tested = [row for row in rows if row.get("rounds")]
    if not tested:
        return []
    converged = [row for row in tested if is_converged(row, pass_gap)]
    highest = [max((gap[2] for gap in row["rounds"][-1].get("gaps", {}).values()), default=1.0) for row in converged]
    strict = sum(high <= pass_gap for high in highest)
    low, high = wilson(len(converged), len(tested))
    minutes = sorted(row["minutes_with_tests"] for row in tested if row.get("minutes_with_tests"))
    took = f"; {minutes[0]:.0f} to {minutes[-1]:.0f} minutes each, tests included" if minutes else ""
    counted = f"{len(converged)} of {len(tested)} [{low:.2f}, {high:.2f}]; with upper limits within it too: {strict}"
    return [f"converged by their own tests: {counted}{took}"]


def is_converged(row: Row, pass_gap: float) -> bool:
    """By the run's own last test, without an alarm or a violation, and with no part of the power check failed."""
    last = row["rounds"][-1]
    clean = not row["alarms"] and not any(row["violated"]) and not power_of(row).startswith("not")
    return bool(last["verdict"] == "passed" and last["gap"] <= pass_gap and clean)
