"""Two records of golden runs, compared exactly through the map of names: what differs, and where first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from golden_bytes.names import Names, Policies, renamed, renamed_array

TOP = ("arrays", "metrics", "events")
TREES = ("evals", "facts", "streams", "files", "outputs")  # parts that are compared leaf by leaf
SHOWN = 4  # differences told per kind and part
Leaves = dict[str, Any]


class Found(NamedTuple):
    """What a comparison of one part of one kind says."""

    count: int  # things compared
    differences: list[str]
    notes: tuple[str, ...] = ()  # what the map or the bytes explain


def compare_kind(old: dict[str, Any], new: dict[str, Any], names: Names) -> dict[str, Found]:
    """Every part of one kind's records."""
    about = {part: names_of(part, old, new, names.for_kind(new.get("kind", ""))) for part in (*TOP, *TREES)}
    sides = [
        numbered({**old, "events": modern_events(old.get("events", []), about["events"])}),
        numbered({**new, "events": plain_events(new.get("events", []), about["events"])}),
    ]
    found = {
        "arrays": compare_arrays(sides[0].get("arrays", {}), sides[1].get("arrays", {}), about["arrays"]),
        "metrics": compare_metrics(sides[0].get("metrics", []), sides[1].get("metrics", []), about["metrics"]),
        "events": compare_events(sides[0]["events"], sides[1]["events"]),
    }
    for part in TREES:
        found[part] = compare_leaves(part, sides[0].get(part, {}), sides[1].get(part, {}), about[part])
    if "asked" in old and old["asked"] != new.get("asked", old["asked"]):
        found["metrics"].differences.insert(0, "these are runs with other options: the kind changed, record it again")
    return found


def names_of(part: str, old: dict[str, Any], new: dict[str, Any], names: Names) -> Names:
    """The map, or none of its renames where both sides have the same names: both may be older, or both newer."""
    sides = [spoken(part, side.get(part, {})) for side in (old, new)]
    return names.without_renames() if sides[0] == sides[1] else names


def spoken(part: str, content: Any) -> set[str]:
    """All names of a part."""
    if part == "arrays":
        return set(content)
    if part == "events":
        return {f"{event['event']}.{place}" for event in content for place, _ in leaves(event)}
    return {place for row in (content if part == "metrics" else [content]) for place, _ in leaves(row)}


def numbered(record: dict[str, Any]) -> dict[str, Any]:
    """With frozen policies by number, in the order in which events name them."""
    policies = Policies()
    events = policies.numbered(record["events"])
    policies.is_open = False
    return {part: policies.numbered(content) for part, content in record.items()} | {"events": events}


def compare_arrays(old: dict[str, Any], new: dict[str, Any], names: Names) -> Found:
    """By name; what is left, by its bytes."""
    old = {renamed_array(name, names.arrays): a for name, a in old.items() if not names.is_dropped("arrays", name)}
    new = {name: a for name, a in new.items() if not names.is_added("arrays", name)}
    both = sorted(old.keys() & new.keys())
    other = [name for name in both if identity(old[name]) != identity(new[name])]
    loose = set(filter(Policies.is_named_in, other))  # no event may have given their number: their bytes must be there
    gone = {name: old[name] for name in old if name not in new or name in loose}
    come = {name: new[name] for name in new if name not in old or name in loose}
    same = Counter(map(identity, gone.values())) & Counter(map(identity, come.values()))
    notes = (f"{same.total()} arrays renamed, same bytes",) if same else ()
    differences = [f"{name}: {told_array(old[name])} -> {told_array(new[name])}" for name in other if name not in loose]
    return Found(len(old), differences + unmatched(gone, same, "gone") + unmatched(come, same, "new"), notes)


def unmatched(arrays: dict[str, Any], same: Counter[str], word: str) -> list[str]:
    left, found = Counter(same), []
    for name, array in sorted(arrays.items()):
        if left[identity(array)] > 0:
            left[identity(array)] -= 1
        else:
            found.append(f"{word}: {name} {told_array(array)}")
    return found


def identity(array: dict[str, Any]) -> str:
    return json.dumps([array["dtype"], array["shape"], array["sha256"]])


def told_array(array: dict[str, Any]) -> str:
    shape = "x".join(map(str, array["shape"]))
    mean = f" mean {array['mean']}" if "mean" in array else ""
    return f"{array['dtype']}[{shape}] {array['sha256'][:8]}{mean}"


def compare_metrics(old: list[dict[str, Any]], new: list[dict[str, Any]], names: Names) -> Found:
    """Row by row."""
    differences = [f"{len(old)} rows -> {len(new)} rows"] if len(old) != len(new) else []
    for number, (before, now) in enumerate(zip(old, new, strict=False), 1):
        kept = {renamed(k, names.metrics): v for k, v in before.items() if not names.is_dropped("metrics", k)}
        now = {k: v for k, v in now.items() if not names.is_added("metrics", k)}
        differences += [f"row {number}: {line}" for line in leaf_differences(kept, now)]
    return Found(sum(map(len, old)), differences)


def compare_events(before: list[Leaves], now: list[Leaves]) -> Found:
    """In their order."""
    differences = []
    for number, (one, other) in enumerate(zip(before, now, strict=False), 1):
        if one["event"] != other["event"]:
            differences.append(f"event {number}: {one['event']!r} -> {other['event']!r}")
            break
        place = f"event {number} ({one['event']}, iteration {one.get('iteration')})"
        differences += [f"{place}: {line}" for line in leaf_differences(one, other)]
    if len(before) != len(now):
        differences.append(f"{len(before)} events -> {len(now)} events{counted(before, now)}")
    return Found(len(before), differences)


def counted(before: list[Leaves], now: list[Leaves]) -> str:
    old, new = (Counter(event["event"] for event in side) for side in (before, now))
    return "".join(f"; {kind}: {old[kind]} -> {new[kind]}" for kind in sorted(old | new) if old[kind] != new[kind])


def modern_events(events: list[dict[str, Any]], names: Names) -> list[Leaves]:
    """The older tree's events by today's names, without those that are written no more."""
    return [modern_event(event, names) for event in events if not names.is_dropped("events", event["event"])]


def modern_event(event: dict[str, Any], names: Names) -> Leaves:
    kind = event["event"]
    found: Leaves = {"event": renamed(kind, names.events)}
    for place, value in leaves(event):
        full = f"{kind}.{place}"
        if place != "event" and not names.is_dropped("fields", full):
            new = renamed(full, names.fields)
            found[new.removeprefix(f"{kind}.").removeprefix(f"{found['event']}.")] = modern_text(value, names)
    return dict(sorted(found.items()))


def plain_events(events: list[dict[str, Any]], names: Names) -> list[Leaves]:
    """The newer tree's events, without what the older one did not write."""
    found = []
    for event in events:
        kind = event["event"]
        if not names.is_added("events", kind):
            kept = {place: v for place, v in leaves(event) if not names.is_added("fields", f"{kind}.{place}")}
            found.append({place: modern_text(kept[place], names) for place in sorted(kept)} | {"event": kind})
    return found


def modern_text(value: Any, names: Names) -> Any:
    return renamed(value, names.texts) if isinstance(value, str) else value


def compare_leaves(part: str, old: Any, new: Any, names: Names) -> Found:
    """By place; a value that moved to another place under its own last name is the same."""
    before = {
        renamed(place, names.places_of(part)): modern_text(value, names)
        for place, value in leaves(old)
        if not names.is_dropped(part, place)
    }
    now = {place: modern_text(value, names) for place, value in leaves(new) if not names.is_added(part, place)}
    gone = {place: before[place] for place in sorted(before.keys() - now.keys())}
    come = {place: now[place] for place in sorted(now.keys() - before.keys())}
    moved = pairs_of_moved(gone, come)
    for one, other in moved:
        del gone[one], come[other]
    both = {place: value for place, value in before.items() if place in now or place in gone}
    differences = leaf_differences(both, {**{p: v for p, v in now.items() if p in before}, **come})
    notes = (f"{len(moved)} values moved, the same",) if moved else ()
    return Found(len(before), differences, notes)


def pairs_of_moved(gone: Leaves, come: Leaves) -> list[tuple[str, str]]:
    """Places of equal values with the same last name."""
    waiting: dict[str, list[str]] = {}
    for place in sorted(come):
        waiting.setdefault(json.dumps([place.rpartition(".")[2], come[place]]), []).append(place)
    found = []
    for place in sorted(gone):
        candidates = waiting.get(json.dumps([place.rpartition(".")[2], gone[place]]))
        if candidates:
            found.append((place, candidates.pop(0)))
    return found


def leaf_differences(old: Leaves, new: Leaves) -> list[str]:
    found = []
    for place in [*old, *(place for place in new if place not in old)]:
        if place not in new:
            found.append(f"{place} = {short(old[place])} is gone")
        elif place not in old:
            found.append(f"{place} = {short(new[place])} is new")
        elif old[place] != new[place]:
            found.append(f"{place}: {short(old[place])} -> {short(new[place])}")
    return found


def short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every number, text and empty table below a value, with its place."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    empty = True
    for key, item in inside:
        empty = False
        yield from leaves(item, f"{place}.{key}" if place else str(key))
    if empty and place:
        yield place, value


def compare_records(old: Path, new: Path, names: Names) -> tuple[dict[str, dict[str, Found]], list[str]]:
    """Every kind that both records have, and the kinds that only one has."""
    kinds = [{path.stem for path in side.glob("*.json")} for side in (old, new)]
    found = {}
    for kind in sorted(kinds[0] & kinds[1]):
        sides = [json.loads((side / f"{kind}.json").read_text()) for side in (old, new)]
        found[kind] = compare_kind(sides[0], sides[1], names)
    alone = [
        f"only in {side}: {', '.join(sorted(own))}" for side, own in zip((old, new), only(kinds), strict=True) if own
    ]
    return found, alone


def only(kinds: list[set[str]]) -> tuple[set[str], set[str]]:
    return kinds[0] - kinds[1], kinds[1] - kinds[0]


def table(found: dict[str, dict[str, Found]]) -> str:
    """Kinds against parts, then the first differences of each."""
    parts = [*TOP, *TREES]
    width = max([len(kind) for kind in found] + [4])
    lines = ["  ".join([" " * width, *(f"{part:>9}" for part in parts)])]
    for kind, results in found.items():
        cells = [cell(results[part]) for part in parts]
        lines.append("  ".join([kind.ljust(width), *(f"{text:>9}" for text in cells)]))
    for kind, results in found.items():
        for part in parts:
            lines += [f"{kind}, {part}: {note}" for note in results[part].notes]
            lines += [f"{kind}, {part}: {line}" for line in results[part].differences[:SHOWN]]
            if len(results[part].differences) > SHOWN:
                lines.append(f"{kind}, {part}: and {len(results[part].differences) - SHOWN} more")
    return "\n".join(lines)


def cell(found: Found) -> str:
    if found.differences:
        return f"{len(found.differences)} differ"
    return "equal" if found.count else "-"


def all_equal(found: dict[str, dict[str, Found]]) -> bool:
    return not any(result.differences for results in found.values() for result in results.values())
