"""What a world brings beside itself: options, a curriculum, metrics, hints, a rehearsal, a section of the report.

The core reaches every game through this one value and knows none by name. A world class carries its `Game` as the class
attribute `game`; worlds without one get the general tools alone. Functions import what they need when they are called,
so that a game costs nothing until it is played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple


class Metric(NamedTuple):
    """One row of a table of metrics; `{role}` and `{column}` stand for the world's own names."""

    name: str
    unit: str
    meaning: str


class Imported(NamedTuple):
    """Settings of another program in today's terms."""

    options: dict[str, Any]  # by dotted name; those that are as here may be left out
    notes: tuple[str, ...]  # what does not act here as it did there


@dataclass(frozen=True)
class Game:
    """The parts of a game; all may be left out."""

    sections: Mapping[str, type] = field(default_factory=dict)  # settings dataclasses by the name of their section
    implied: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # what a switch sets unless it is given
    uses: frozenset[str] = frozenset()  # sections of the core's curriculum tools that its curriculum reads
    check: Callable[[Any, frozenset[str]], list[str]] | None = None  # (config, set on purpose) -> problems
    feasibility: Callable[[Any], Any] | None = None  # (config) -> curriculum.findings.Report
    curriculum: Callable[..., Any] | None = None  # (run, state) -> curriculum.contract.Curriculum and Judge
    metrics: tuple[Metric, ...] = ()  # names its curriculum may log
    hints: Callable[[], tuple[Any, ...]] | None = None  # further rules of runs.hint_rules
    rehearsal: Callable[[], Any] | None = None  # () -> runs.rehearse.Company
    campaign: Callable[[Any], Callable[[Any], int] | None] | None = None  # (config) -> runs in place of one run
    report: Callable[[Any], Any] | None = None  # (record) -> sections of the report
    report_tables: Callable[[Any], Any] | None = None  # the same without pictures that take time or space
    pictures: Callable[[Any, bool], None] | None = None  # (run folder, all of them) writes media before a report
    one_stage: Callable[[Any, str], Any] | None = None  # (world settings, stage) -> settings of that stage alone
    stage_rows: Callable[..., Any] | None = None  # (kept policy, checkpoint, episodes, sampled) -> rows of `evaluate`
    stage_table: Callable[[Any], Any] | None = None  # (those rows) -> a rich table
    in_workers: str = ""  # module:Class of the world whose lanes are worker processes
    proof_options: tuple[str, ...] = ()  # of `doctor --world`, where none are given
    proofs: Callable[[str], Any] | None = None  # (ROM or other file) -> proofs of `doctor NAME`
    harvest_deck: Callable[..., Any] | None = None  # (arguments, run, config) of `deck harvest` -> the deck's path
    velocity_facts: Callable[[Any], dict[str, Any]] | None = None  # (velocities of a light deck) -> facts to be told
    deck_lines: Callable[[Mapping[str, Any]], list[str]] | None = None  # (facts of a deck) -> what `deck show` adds
    pools: Callable[[], Mapping[str, Any]] | None = None  # of `doctor backends`: name -> (package it needs, pool)
    speeds: Mapping[str, tuple[Mapping[str, Any], int, int]] = field(default_factory=dict)  # settings, lanes, steps
    presets: str | Path = ""  # folder of TOML presets; empty: `presets` beside the module of the world
    policies: str | Path = ""  # folder of kept policies; empty: `policies` beside it
    bench: Callable[[str, int, bool], dict[str, Any]] | None = None  # (file, repeats, blocks) -> rates of its own
    imports: Mapping[str, Callable[[str], Imported]] = field(default_factory=dict)  # `import NAME-WHAT`: from a text
