"""How the run was set up: options that differ from the defaults, all options, versions, commit and command."""

from __future__ import annotations

import json
import shlex
from typing import Any, NamedTuple

from holdfast.config.options import OptionInfo, flattened, options_of
from holdfast.config.sections import SECTIONS
from holdfast.runs.folder import all_runs
from holdfast.views.report.markup import Html, element, joined, section, table
from holdfast.views.report.record import Record, options_of_run, read_object


class Setting(NamedTuple):
    """One option as the run had it."""

    name: str
    value: str
    default: str | None  # None: not known
    meaning: str

    @property
    def differs(self) -> bool:
        return self.default is not None and self.value != self.default


def own_sections(world_name: object) -> dict[str, type]:
    """The sections of an installed world. A name in a run folder does not choose what is imported from elsewhere."""
    from holdfast.worlds.registry import own_game, world_class, world_names

    if world_name not in world_names():
        return {}
    return {"world": world_class(str(world_name)).Settings, **own_game(world_name).sections}


def settings(config: dict[str, dict[str, Any]]) -> list[Setting]:
    """Every option with its default, in the order the sections are written."""
    kinds = {**own_sections(config.get("world", {}).get("name")), **SECTIONS}
    known = {f"{name}.{info.name}": info for name, kind in kinds.items() for info in options_of(kind)}
    return [
        _setting(name, value, known.get(name))
        for section, options in config.items()
        for name, value in flattened(options, known, f"{section}.")
    ]


def _setting(name: str, value: Any, info: OptionInfo | None) -> Setting:
    if info is None:
        return Setting(name, as_text(value), None, "")
    return Setting(name, as_text(value), as_text(info.default), info.meaning)


def as_text(value: Any) -> str:
    """A value as JSON writes it, so that tuples and lists compare equal; plain text without quotes."""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def configuration_section(record: Record) -> Html:
    found = settings(record.config)
    changed = [
        [element("code", setting.name), element("strong", setting.value), setting.default or "", setting.meaning]
        for setting in found
        if setting.differs
    ]
    everything = [
        [
            element("code", setting.name),
            element("strong", setting.value) if setting.differs else setting.value,
            setting.meaning,
        ]
        for setting in found
    ]
    short_table = table(["option", "value", "default", "meaning"], changed, numeric=9, class_="options")
    full = element(
        "details",
        element("summary", f"All {len(everything)} options"),
        table(["option", "value", "meaning"], everything, numeric=9, class_="options"),
    )
    begin = short_table if changed else element("p", "All options have their defaults.", class_="none")
    before = _since_previous(record, found)
    return section("Configuration: what differs from the defaults", begin, _later_changes(record), before, full)


def _since_previous(record: Record, found: list[Setting]) -> Html:
    """Which options the newest earlier run of the same preset beside this one had otherwise."""
    previous = previous_run(record)
    if previous is None:
        return joined()
    name, config = previous
    then = {setting.name: setting.value for setting in settings(config)}
    now = {setting.name: setting.value for setting in found}
    rows = [
        [element("code", option), now.get(option, "–"), then.get(option, "–")]
        for option in sorted({*now, *then} - {"run.name"})
        if now.get(option) != then.get(option)
    ]
    if not rows:
        return element("p", f"The same options as in {name}, the run before it.", class_="note")
    return element(
        "details",
        element("summary", f"{len(rows)} options differ from {name}, the run of this preset before it"),
        table(["option", "here", name], rows, numeric=9, class_="options"),
    )


def previous_run(record: Record) -> tuple[str, dict[str, dict[str, Any]]] | None:
    """Name and options of the newest earlier run of the same preset in the same folder of runs."""
    mine = (str(record.description.get("created", "")), record.name)
    earlier = []
    for run in all_runs(str(record.folder.resolve().parent)):
        description = read_object(run.folder / "run.json")
        age = (str(description.get("created", "")), run.name)
        if description.get("preset") == record.description.get("preset") and age < mine:
            earlier.append((age, options_of_run(description)))
    if not earlier:
        return None
    (_, name), config = max(earlier, key=lambda one: one[0])
    return name, config


def _later_changes(record: Record) -> Html:
    changes = record.description.get("changes")
    if not isinstance(changes, list) or not changes:
        return joined()
    return element("p", "; ".join(str(change) for change in changes), class_="note")


def origin_section(record: Record) -> Html:
    """Enough to make the run again."""
    description = record.description
    command = description.get("command")
    line = shlex.join(str(word) for word in command) if isinstance(command, list) else str(command or "")
    versions = description.get("versions")
    words = [f"{name} {number}" for name, number in versions.items()] if isinstance(versions, dict) else []
    facts = [
        ("command", element("code", line or "not recorded")),
        ("preset", str(description.get("preset", ""))),
        ("begun", str(description.get("created", "")).replace("T", " ")),
        ("holdfast", str(description.get("holdfast", ""))),
        ("commit", element("code", str(description.get("git") or "not in a clone"))),
        ("versions", ", ".join(words)),
    ]
    return section(
        "Origin",
        element("dl", *(joined(element("dt", name), element("dd", fact)) for name, fact in facts), class_="facts"),
    )
