"""`holdfast options [WORD]`: what an option does, what a section has, and where a word comes up."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from rich.console import Console
from rich.table import Table

from holdfast.config.catalogue import Entry, as_typed, catalogue, dependents, example, sections_of, set_by
from holdfast.config.foreign_names import hint
from holdfast.config.options import kind_name, wanted
from holdfast.kit.errors import UnknownName, nearest
from holdfast.worlds.registry import world_names

WIDTH = 100


def show_options(word: str | None, as_json: bool) -> int:
    """Exit status 0; UnknownName, status 2, with the nearest names where a word comes up nowhere."""
    if word is None:
        return _sections(as_json)
    word = word.removeprefix("--").strip("[]")
    exact = [entry for entry in catalogue() if entry.name == word]
    found = exact or _within(word) or _searched(word)
    if not found:
        names = [*dict.fromkeys(entry.name for entry in catalogue()), *_section_names()]
        raise UnknownName(f"no option, section or help text has {word!r}{hint(word) or nearest(word, names)}")
    if as_json:
        print(json.dumps([facts(entry) for entry in found] if exact or len(found) > 1 else [facts(found[0])]))
    elif exact or len(found) == 1:
        print("\n\n".join(explained(entry) for entry in found))
    else:
        _listed(found)
    return 0


def _within(word: str) -> list[Entry]:
    """The options of a section, of a nested table, or of a world by its name."""
    inside = [entry for entry in catalogue() if entry.name.startswith(f"{word}.")]
    return inside or [entry for entry in catalogue() if entry.world == word]


def _searched(word: str) -> list[Entry]:
    """Options with the word in their name or help."""
    small = word.lower()
    in_name = [entry for entry in catalogue() if small in entry.name.lower()]
    return in_name + [one for one in catalogue() if small in one.info.meaning.lower() and one not in in_name]


def facts(entry: Entry) -> dict[str, Any]:
    """Everything that is known of an option, for other programs."""
    info = entry.info
    return {
        "name": entry.name,
        "world": entry.world or None,
        "meaning": info.meaning,
        "unit": info.unit or None,
        "type": kind_name(info.kind),
        "default": info.default,
        "low": info.low,
        "high": info.high,
        "example": f"--{entry.name} {example(entry)}",
        "only": None if info.only is None else {"option": info.only[0], "values": list(info.only[1])},
        "governs": [other.name for other in dependents(entry)],
        "free_at_resume": info.free,
        "expert": info.expert,
        "presets": set_by(entry),
    }


def explained(entry: Entry) -> str:
    """One option on a screen."""
    info = entry.info
    rows = {
        "world": entry.world,
        "type": kind_name(info.kind),
        "unit": info.unit,
        "default": as_typed(info.default) or "empty",
        "bounds": bounds(info.low, info.high),
        "example": f"--{entry.name} {example(entry)}",
        "acts only": "" if info.only is None else f"with {info.only[0]} = {wanted(info.only[1])}",
        "decides over": ", ".join(other.name for other in dependents(entry)),
        "at resume": "may change freely" if info.free else "changes what is learned: only with --allow-change",
        "presets": ", ".join(f"{name} {as_typed(value)}" for name, value in set_by(entry).items()),
    }
    lines = [entry.name, *textwrap.wrap(info.meaning, WIDTH, initial_indent="  ", subsequent_indent="  ")]
    for name, value in rows.items():
        if value:
            first, rest = f"  {name:<13}", " " * 15
            lines += textwrap.wrap(value, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return "\n".join(lines)


def bounds(low: float | None, high: float | None) -> str:
    """`0 to 1`, `at least 1`."""
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    return f"at least {low:g}" if low is not None else (f"at most {high:g}" if high is not None else "")


def _listed(found: list[Entry]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("option", no_wrap=True)
    table.add_column("default")
    table.add_column("what it does")
    for entry in found:
        name = f"{entry.name} ({entry.world})" if entry.world else entry.name
        table.add_row(name, as_typed(entry.info.default), entry.info.meaning)
    Console(markup=False, highlight=False).print(table)


def _section_names() -> list[str]:
    return [*dict.fromkeys(entry.section for entry in catalogue()), *world_names()]


def _sections(as_json: bool) -> int:
    counts: dict[tuple[str, str], int] = {}
    for entry in catalogue():
        counts[entry.world, entry.section] = counts.get((entry.world, entry.section), 0) + 1
    rows = [
        {"section": section, "world": world or None, "options": count, "meaning": _meaning(world, section)}
        for (world, section), count in counts.items()
    ]
    if as_json:
        print(json.dumps(rows))
        return 0
    table = Table("section", "options", "what it is about", box=None, pad_edge=False, header_style="bold")
    for row in rows:
        world = f" ({row['world']})" if row["world"] else ""
        table.add_row(f"{row['section']}{world}", str(row["options"]), str(row["meaning"]))
    Console(markup=False, highlight=False).print(table)
    print("\nholdfast options learner      the options of a section, or of a world: holdfast options fish")
    print("holdfast options learner.lr   one option; any other word is looked for in all names and help texts")
    return 0


def _meaning(world: str, section: str) -> str:
    return (sections_of(world)[section].__doc__ or "").strip().splitlines()[0]
