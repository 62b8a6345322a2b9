"""Other thresholds for a run's gate: what it would have decided on the evaluations that were recorded.

The gate is a pure function of recorded values, so an answer takes milliseconds and the run is not touched. This is the
one module of the dashboard that knows the gate; it is loaded when first asked for.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from holdfast.kit.errors import ConfigError, RunFolderError
from holdfast.views.dashboard.columns import as_number
from holdfast.views.dashboard.details import DECISION_BYTES
from holdfast.views.dashboard.folder import Folder
from holdfast.views.dashboard.standing import Facts

DECISIONS = "gate_debug.jsonl"
MOST_CHANGES = 60


def sliders_of(folder: Folder, config: Facts) -> list[Facts]:
    """A slider for every threshold, window and count that is in force, with the range its evaluations suggest."""
    from holdfast.curriculum.bytype import parse_by_type
    from holdfast.curriculum.gate_settings import BY_TYPE, FAILURE_KEYS, SUCCESS_KEYS, WINDOWED_KEYS

    records, gate = recorded(folder), settings_of(config)
    counts = ("required_successes", "freeze_iterations", "success_freeze_iterations", "lock_iteration",
              "failure_tolerance")  # fmt: skip
    windows = tuple(f"{key}_window" for key in WINDOWED_KEYS)
    found = []
    for key in (*SUCCESS_KEYS, *FAILURE_KEYS, *windows, *counts):
        measured = [test.value for record in records for test in record.criteria if test.option in (key, key + BY_TYPE)]
        known = [value for value in measured if value is not None] if key not in counts + windows else []
        value = getattr(gate, key)
        if value is not None:
            found.append(_slider(key, value, known, len(records)))
        for kind, number in parse_by_type(getattr(gate, key + BY_TYPE, "") or "").items():
            if number is not None:
                found.append(_slider(f"{key}.{kind}", number, known, len(records)))
    return found


def _slider(name: str, value: float, measured: list[float], evaluations: int) -> Facts:
    """From well below to well above what was measured and set."""
    whole = isinstance(value, int)
    share = not whole and 0.0 <= value <= 1.0 and all(0.0 <= one <= 1.0 for one in measured)
    low, high = min([value, *measured]), max([value, *measured])
    room = (high - low) * 0.25 or abs(value) * 0.5 or 1.0
    bottom = max(0.0, low - room)
    top = min(1.0, high + room) if share else high + room
    if not measured:
        bottom, top = (1 if value >= 1 else 0), max(2 * value, 6, evaluations)
    if whole:
        return {"name": name, "value": value, "low": int(bottom), "high": int(top) + 1, "step": 1, "measured": measured}
    step = 10.0 ** (_order_of(top - bottom) - 2)
    bottom, top = math.floor(bottom / step) * step, math.ceil(top / step) * step
    ends = {"low": float(f"{bottom:.6g}"), "high": float(f"{top:.6g}"), "step": float(f"{step:.6g}")}
    return {"name": name, "value": value, **ends, "measured": measured}


def _order_of(value: float) -> int:
    """Its power of ten."""
    return math.floor(math.log10(value)) if value > 0 else 0


def replayed(folder: Folder, config: Facts, changes: Facts) -> Facts:
    """Every recorded evaluation with its decision as it was and as it would have been."""
    from holdfast.curriculum.gate_changes import change_gate
    from holdfast.curriculum.whatif import replay, short

    records, before = recorded(folder), settings_of(config)
    after = change_gate(before, _assignments(changes))
    timeline = replay(records, after)
    old, new = asdict(before), asdict(after)
    rows = [
        {"iteration": now.measured.iteration, "type": now.measured.type, "recorded": _spelled(then),
         "replayed": _spelled(now), "same": short(then) == short(now), "because": now.because[:1000],
         "before": then.level.after, "after": now.level.after,
         "verdicts": {test.key: test.verdict for test in now.criteria if test.verdict != "off"}}
        for then, now in zip(timeline.recorded, timeline.replayed, strict=True)
    ]  # fmt: skip
    first = timeline.first_difference
    return {
        "rows": rows,
        "changed": {name: [old[name], new[name]] for name in old if old[name] != new[name]},
        "parts_at": first.iteration if first else None,
        "command": _command(old, new),
    }


def _command(old: Facts, new: Facts) -> str:
    """The options for a new run that would have this gate."""
    changed = [name for name in old if old[name] != new[name]]
    return " ".join(f"--gate.{name} {json.dumps(new[name]).strip(chr(34))}" for name in changed)


def _spelled(record: Any) -> str:
    return f"{record.event.replace('_', ' ')}, level {record.level.after}"


def _assignments(changes: Facts) -> list[str]:
    if len(changes) > MOST_CHANGES:
        raise ConfigError([f"more than {MOST_CHANGES} changes at once"])
    problems = [f"{name[:60]!r}: not a number" for name, value in changes.items() if as_number(value) is None]
    if problems:
        raise ConfigError(problems)
    return [f"{name}={value:.10g}" for name, value in changes.items()]


def recorded(folder: Folder) -> tuple[Any, ...]:
    """The gate's records; the file of a run may be half written or of another version."""
    from holdfast.curriculum.record import Record

    content = folder.read(DECISIONS, DECISION_BYTES)
    if content is None:
        raise RunFolderError(f"no {DECISIONS} that can be read: the gate of this run never decided anything")
    records = []
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), start=1):
        try:
            records.append(Record.from_json(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as wrong:
            raise RunFolderError(f"{DECISIONS}, line {number}: not a gate record of this version ({wrong})") from wrong
    if not records:
        raise RunFolderError("no evaluation has been judged by the gate yet")
    return tuple(records)


def settings_of(config: Facts) -> Any:
    """The gate's options in a run's configuration; those it does not have get their defaults."""
    from holdfast.config.options import from_toml, options_of, out_of_bounds
    from holdfast.curriculum.gate_settings import GateSettings

    table, values = config.get("gate", {}), {}
    for info in options_of(GateSettings):
        if info.name in table:
            try:
                values[info.name] = from_toml(table[info.name], info.kind)
            except ValueError as wrong:
                raise RunFolderError(f"gate.{info.name} of this run is not one of this version") from wrong
            if out_of_bounds(values[info.name], info):
                raise RunFolderError(f"gate.{info.name} {out_of_bounds(values[info.name], info)}")
    return GateSettings(**values)
