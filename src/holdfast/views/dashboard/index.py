"""The table of all runs, kept up to date by looking only at what may have changed.

A run that is going on is looked at in every round, one that has ended once in `SLOW_S`. Folders are listed again only
when their own time of change says that a name came or went. Every change gets a number, so a reader that knows the
number it saw last can be told just what is new.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.views.dashboard.folder import Folder, Stamp
from holdfast.views.dashboard.standing import BEGUN, FILES, LIVE, Facts, is_held, row_of, status_of

MOST_RUNS = 10_000
MOST_FOLDERS = 20_000  # that hold runs, or may
DEEPEST = 6
SLOW_S = 5.0  # between two looks at a run that has ended
FRESH_S = 2.0  # a folder that changed this recently is listed again: its clock may be too coarse to tell
COALESCE_S = 0.5  # a run that writes all the time is shown this often
MOST_ENDED = 100  # runs that have ended and are looked at in one round
REMEMBERED = 1000  # names of runs that are gone


@dataclass
class Entry:
    """One run, with what each of its files said when it last changed."""

    id: str
    folder: Folder
    stamps: dict[str, Stamp | None] = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)
    row: Facts = field(default_factory=dict)
    text: str = ""  # the row as JSON
    version: int = 0
    looked_s: float = 0.0
    changed_s: float = 0.0

    @property
    def is_live(self) -> bool:
        return self.row.get("status") in LIVE

    def look(self, now: float) -> bool:
        """Read what changed; is the row another one now?"""
        self.looked_s = now
        for name, read in FILES.items():
            stamp = self.folder.stamp(name)
            if stamp != self.stamps.get(name) or name not in self.stamps:
                self.stamps[name] = stamp
                self.facts.update(read(self.folder))
        held = self.facts.get("beat") is None and self._may_be_held() and is_held(self.folder)
        row = {"id": self.id, **row_of(self.facts, *status_of(self.facts, now, held))}
        if row == self.row:
            return False
        self.row, self.text, self.changed_s = row, json.dumps(row, allow_nan=False), now
        return True

    def _may_be_held(self) -> bool:
        return self.facts.get("event") in (None, *BEGUN)


@dataclass
class Place:
    """A folder that is not a run but may come to hold some."""

    folder: Folder
    stamp: Stamp | None = None
    listed_s: float = 0.0
    runs: set[str] = field(default_factory=set)
    studies: bool = False
    inside: list[tuple[str, ...]] = field(default_factory=list)


class RunIndex:
    """All runs below the roots. A root has a prefix, which the names of its runs begin with."""

    def __init__(self, roots: dict[str, Path]) -> None:
        self.roots = {prefix: root.resolve() for prefix, root in roots.items()}
        self.entries: dict[str, Entry] = {}
        self.removed: list[tuple[int, str]] = []
        self.version = 0
        self.is_there = True
        self.refreshed_s = float("-inf")
        self._places: dict[tuple[str, tuple[str, ...]], Place] = {}
        self._lock = threading.Lock()

    # --- asked by views ----------------------------------------------------------------------------------------------

    def get(self, name: str) -> Entry | None:
        return self.entries.get(name)

    def changed_since(self, version: int) -> list[Entry]:
        return [entry for entry in list(self.entries.values()) if entry.version > version]

    def removed_since(self, version: int) -> list[str]:
        return [name for number, name in self.removed if number > version and name not in self.entries]

    def studies(self) -> dict[str, Folder]:
        """Folders that hold a study.toml, by name."""
        return {
            name_of(prefix, parts): place.folder
            for (prefix, parts), place in list(self._places.items())
            if place.studies
        }

    # --- keeping up --------------------------------------------------------------------------------------------------

    def refresh(self, now: float | None = None, least_s: float = 0.0, watched: frozenset[str] = frozenset()) -> None:
        """One round, unless one took place within `least_s`. Any thread may ask; one at a time looks. Runs that are
        `watched` are looked at also when they have ended."""
        with self._lock:
            now = time.time() if now is None else now
            if now - self.refreshed_s < least_s:
                return
            self.refreshed_s = now
            self.is_there = all(Folder(root).stamp("") is not None for root in list(self.roots.values())[:1])
            if not self.is_there:  # everything stays as it last was
                return
            for prefix, root in self.roots.items():
                self._list(prefix, (), Folder(root), now)
            changed = [entry for entry in self._due(now, watched) if entry.look(now)]
            if changed:
                self.version += 1
                for entry in changed:
                    entry.version = self.version

    def _due(self, now: float, watched: frozenset[str]) -> list[Entry]:
        """Runs to look at in this round; those that have ended are spread over the rounds."""
        due, ended = [], []
        for entry in self.entries.values():
            if not entry.row or entry.id in watched:
                due.append(entry)
            elif entry.is_live:
                if now - entry.changed_s >= COALESCE_S:
                    due.append(entry)
            elif now - entry.looked_s >= SLOW_S:
                ended.append(entry)
        return due + sorted(ended, key=lambda entry: entry.looked_s)[:MOST_ENDED]

    # --- finding runs ------------------------------------------------------------------------------------------------

    def _list(self, prefix: str, parts: tuple[str, ...], folder: Folder, now: float) -> None:
        key = (prefix, parts)
        place = self._places.setdefault(key, Place(folder))
        stamp = folder.stamp("")
        recent = stamp is not None and place.listed_s - stamp.mtime_ns / 1e9 < FRESH_S
        if stamp is None or stamp != place.stamp or recent:
            self._list_anew(prefix, parts, place, stamp, now)
        for inside in place.inside:
            self._list(prefix, inside, Folder(folder.root, inside), now)

    def _list_anew(self, prefix: str, parts: tuple[str, ...], place: Place, stamp: Stamp | None, now: float) -> None:
        place.stamp, place.listed_s = stamp, now
        items = place.folder.items()
        if parts and any(item.name == "run.json" and item.is_file for item in items):  # it has become a run
            self._places[prefix, parts[:-1]].stamp = None
            return
        place.studies = any(item.name == "study.toml" and item.is_file for item in items)
        runs, inside = set(), []
        for item in items:
            if not item.is_folder or item.name.startswith("."):
                continue
            below = (*parts, item.name)
            name = name_of(prefix, below)
            if name in place.runs or Folder(place.folder.root, below).stamp("run.json") is not None:
                runs.add(name)
                if name not in self.entries and len(self.entries) < MOST_RUNS:
                    self.entries[name] = Entry(name, Folder(place.folder.root, below))
            elif len(below) <= DEEPEST and len(self._places) < MOST_FOLDERS:
                inside.append(below)
        for name in place.runs - runs:
            self._remove(name)
        for gone in set(place.inside) - set(inside):
            self._forget(prefix, gone)
        place.runs, place.inside = runs, sorted(inside)

    def _forget(self, prefix: str, parts: tuple[str, ...]) -> None:
        place = self._places.pop((prefix, parts), None)
        if place is not None:
            for name in place.runs:
                self._remove(name)
            for inside in place.inside:
                self._forget(prefix, inside)

    def _remove(self, name: str) -> None:
        if self.entries.pop(name, None) is not None:
            self.version += 1
            self.removed = [*self.removed, (self.version, name)][-REMEMBERED:]


def name_of(prefix: str, parts: tuple[str, ...]) -> str:
    return "/".join((prefix, *parts) if prefix else parts)


def option_of(facts: Facts, name: str) -> Any:
    """The value of `section.key` in a run's configuration; None where it has none."""
    section, _, key = name.partition(".")
    return facts.get("config", {}).get(section, {}).get(key)
