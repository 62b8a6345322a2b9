"""The map of names between two trees: what an older tree's options, metrics, events, arrays and facts are called now.

A `*` in a name stands for any characters; the new name's stars take the same text, in order. Arrays are mapped by
regular expressions. Without a map nothing is renamed.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

POLICY = re.compile(r"(?<![\w.])(?:[0-9a-f]{16}|[0-9a-f]{12}|(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{6})\b")  # part of a hash
Renames = dict[str, str]


@dataclass
class Names:
    """What the map says; empty tables where it says nothing."""

    options: Renames = field(default_factory=dict)  # "section.key", or "section.key=value" for one value
    presets: Renames = field(default_factory=dict)  # presets and worlds
    modules: Renames = field(default_factory=dict)  # that world.py imports from
    words: Renames = field(default_factory=dict)  # of commands: verbs and their flags
    metrics: Renames = field(default_factory=dict)
    events: Renames = field(default_factory=dict)  # kinds of events
    fields: Renames = field(default_factory=dict)  # places in events: "offered.policy" or "*.policy"
    arrays: Renames = field(default_factory=dict)  # regular expressions
    facts: Renames = field(default_factory=dict)  # places in facts, evaluations, streams, files and outputs
    texts: Renames = field(default_factory=dict)  # whole texts that are values
    dropped: dict[str, list[str]] = field(default_factory=dict)  # by part: what the newer tree has no more
    added: dict[str, list[str]] = field(default_factory=dict)  # what only the newer one has
    ignored: dict[str, list[str]] = field(default_factory=dict)  # what may differ

    def modern(self, words: list[str], options: Renames, complaint: str) -> tuple[list[str], Renames]:
        """Words and options with new names for the old ones a complaint names; for all of them if it is empty."""

        def told(name: str) -> bool:
            return not complaint or name.partition("=")[0] in complaint

        changed = {old: new for old, new in {**self.presets, **self.words}.items() if told(old)}
        found: Renames = {}
        for name, value in options.items():
            if told(name) and name in self.dropped.get("options", []):
                continue
            pair = f"{name}={value}"
            old = pair if pair in self.options else name
            key, _, given = (self.options.get(old, name) if told(old) else name).partition("=")
            found[key] = given or value
        return [changed.get(word, word) for word in words], found

    def world_for(self, source: Path, text: str) -> str:
        """Python text with imports from where these sources have their modules."""
        for old, new in self.modules.items():
            here, gone = (new, old) if is_module(source, new) and not is_module(source, old) else (old, new)
            text = text.replace(f"from {gone} import", f"from {here} import")
        return text

    def for_kind(self, kind: str) -> Names:
        """What the map says about one kind: `KIND: name` is about that kind only."""

        def about(table: dict[str, list[str]]) -> dict[str, list[str]]:
            split = {part: [pattern.rpartition(": ") for pattern in patterns] for part, patterns in table.items()}
            return {part: [name for own, _, name in patterns if own in ("", kind)] for part, patterns in split.items()}

        tables = {name: about(getattr(self, name)) for name in ("dropped", "added", "ignored")}
        return replace(self, **tables)

    def without_renames(self) -> Names:
        return Names(texts=self.texts, ignored=self.ignored)

    def is_dropped(self, part: str, name: str) -> bool:
        options = self.dropped.get("options", []) if part == "outputs" else []
        configured = [f"*.config.{option}{end}" for option in options for end in ("", ".*")]
        patterns = [*self.dropped.get(part, []), *self.ignored.get(part, []), *configured]
        return any(matches(pattern, name) for pattern in patterns)

    def is_added(self, part: str, name: str) -> bool:
        options = self.added.get("options", []) if part == "outputs" else []
        configured = [f"*.config.{option}{end}" for option in options for end in ("", ".*")]
        patterns = [*self.added.get(part, []), *self.ignored.get(part, []), *configured]
        return any(matches(pattern, name) for pattern in patterns)

    def places_of(self, part: str) -> Renames:
        """How places in this part are renamed; the kind `presets` shows configurations, so options are places too."""
        if part != "outputs":
            return self.facts
        plain = {old: new for old, new in self.options.items() if "=" not in old}
        whole = {f"*.config.{old}": f"*.config.{new}" for old, new in plain.items()}
        return {**self.facts, **whole, **{f"{old}.*": f"{new}.*" for old, new in whole.items()}}


def read_names(path: Path | None) -> Names:
    """The map in a TOML file; an unknown table is an error, as it would silently explain nothing."""
    if path is None:
        return Names()
    found = tomllib.loads(path.read_text())
    unknown = sorted(found.keys() - Names.__dataclass_fields__.keys())
    if unknown:
        raise ValueError(f"{path}: unknown tables {', '.join(unknown)}; there are {', '.join(Names().__dict__)}")
    return Names(**found)


def is_module(source: Path, name: str) -> bool:
    place = source.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


@cache
def pattern_of(text: str) -> re.Pattern[str]:
    """`*` is any text; letters in brackets are one of them."""
    parts = [re.escape(part).replace(r"\[", "[").replace(r"\]", "]") for part in text.split("*")]
    return re.compile("(.*?)".join(parts))


def matches(pattern: str, name: str) -> bool:
    return pattern_of(pattern).fullmatch(name) is not None


def renamed(name: str, renames: Renames) -> str:
    """The first rename that fits the whole name."""
    for old, new in renames.items():
        if old == name:
            return new
        if "*" in old and (found := pattern_of(old).fullmatch(name)):
            for text in found.groups():
                new = new.replace("*", text, 1)
            return new
    return name


def renamed_array(name: str, renames: Renames) -> str:
    for old, new in renames.items():
        name = re.sub(old, new, name)
    return name


class Policies:
    """Frozen policies by number, in the order events first name them: their hashes change with the names of arrays."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}
        self.is_open = True  # later policies are only told apart as keys

    @staticmethod
    def is_named_in(name: str) -> bool:
        return "policy " in name

    def numbered(self, value: Any) -> Any:
        if isinstance(value, str):
            return POLICY.sub(lambda found: self.number(found[0], self.is_open), value)
        if isinstance(value, dict):
            keys = {key: POLICY.sub(lambda found: self.number(found[0], True), key) for key in value}
            return {keys[key]: self.numbered(item) for key, item in value.items()}
        return [self.numbered(item) for item in value] if isinstance(value, list) else value

    def number(self, name: str, is_new: bool) -> str:
        known = self.seen.get(name)
        if known is None and is_new:
            known = self.seen[name] = f"policy {len(self.seen) + 1}"
        return known or "policy of no event"
