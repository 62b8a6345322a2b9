"""What the gate says before a run (`gate check`) and what another gate would have said after it (`gate what-if`)."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from holdfast.config.reading import load_config
from holdfast.config.sections import Config
from holdfast.curriculum.feasible import require_gate
from holdfast.curriculum.findings import Finding, Report
from holdfast.curriculum.gate_changes import change_gate
from holdfast.curriculum.gate_check import check_gate
from holdfast.curriculum.gate_settings import GateSettings, gate_values
from holdfast.curriculum.record import Record, read_records
from holdfast.curriculum.whatif import Timeline, replay, short
from holdfast.kit.errors import ConfigError, RunFolderError
from holdfast.runs.folder import RunFolder
from holdfast.runs.reopen import config_of
from holdfast.views.dry_run import checked_spec

DECISIONS = "gate_debug.jsonl"
COLOURS = {"infeasible": "bold red", "unreachable": "red", "dead": "yellow", "warn": "cyan"}


def gate_check(target: str, options: list[str], as_json: bool) -> int:
    """0 when the gate can open, 1 when it cannot."""
    config, explicit = load_config(target, options)
    checked_spec(config, explicit)
    report = require_gate(config)
    if as_json:
        print(json.dumps({"target": target, **report.to_json()}))
    else:
        show_report(config, report)
    return 0 if report.feasible else 1


def show_report(config: Config, report: Report) -> None:
    console = Console()
    evaluation, world = config.evaluation, config.evaluation_world
    console.print(
        f"{config.run.iterations} iterations, an evaluation of {evaluation.episodes} x {world.fish} fish every "
        f"{evaluation.every}; {config.gate.max_level} levels to climb"
    )
    for finding in report.findings:
        console.print(_lines(finding), highlight=False)
    for text in report.left_out:
        console.print(f"not checked: {text}", style="dim", highlight=False)
    verdict = "this gate can open" if report.feasible else "this gate cannot open"
    console.print(verdict, style="bold green" if report.feasible else "bold red")


def _lines(finding: Finding) -> str:
    colour = COLOURS[finding.severity]
    text = f"[{colour}]{finding.code} {finding.severity}[/{colour}] {finding.text}"
    if finding.repair:
        text += f"\n    repair: {finding.repair.spelled} ({finding.repair.text})"
    return text


def gate_what_if(run: RunFolder, assignments: list[str], as_json: bool) -> int:
    """The recorded evaluations of a run under a changed gate."""
    records = recorded(run)
    before = config_of(run).gate
    after = change_gate(before, assignments)
    check_gate(after, {record.measured.type for record in records} | _named_types(before), len(records))
    timeline = replay(records, after)
    if as_json:
        print(json.dumps({"run": run.name, "changed": _changes(before, after), **timeline.to_json()}))
    else:
        show_timeline(timeline, _changes(before, after))
    return 0


def recorded(run: RunFolder) -> tuple[Record, ...]:
    path = run.folder / DECISIONS
    if not path.exists():
        raise RunFolderError(f"run {run.name} has no {DECISIONS}: its gate never decided anything")
    records = read_records(path)
    if not records:
        raise RunFolderError(f"{path} is empty: no evaluation has been judged yet")
    return records


def _named_types(gate: GateSettings) -> set[str]:
    """Types that the run's own options name: it was allowed to, so they exist."""
    return set(gate.by_type)


def _changes(before: GateSettings, after: GateSettings) -> dict[str, Any]:
    old, new = gate_values(before), gate_values(after)
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    found = {f"gate.{name}": [old.get(name), new.get(name)] for name in names}
    if not found:
        raise ConfigError(["--set changes nothing: every value given is the run's own"])
    return found


def show_timeline(timeline: Timeline, changes: dict[str, Any]) -> None:
    console = Console()
    for name, (old, new) in changes.items():
        console.print(f"{name}: {old} -> {new}", highlight=False)
    table = Table("iteration", "type", "recorded", "replayed", "because")
    for old, new in zip(timeline.recorded, timeline.replayed, strict=True):
        style = "" if short(old) == short(new) else "bold"
        cells = (str(new.measured.iteration), new.measured.type, _spelled(old), _spelled(new), new.because)
        table.add_row(*cells, style=style)
    console.print(table)
    console.print(f"levels: {' '.join(map(str, timeline.levels))}   ({timeline.shorthand})", highlight=False)
    first = timeline.first_difference
    if first is None:
        console.print("the same decisions at every evaluation")
    else:
        console.print(
            f"they part at iteration {first.iteration}: {first.recorded} -> {first.replayed}", highlight=False
        )


def _spelled(record: Record) -> str:
    return f"{record.event} {record.level.after}"
