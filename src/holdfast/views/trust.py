"""`holdfast trust`: which modules a run folder may name and have imported, and how they stand."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from holdfast.kit.errors import ConfigError, UnknownName, nearest
from holdfast.worlds.trust import Trusted, forget, sums_of, trust, trusted


def trust_tool(arguments: argparse.Namespace) -> int:
    module: str | None = arguments.module
    if arguments.list:
        if module or arguments.remove:
            raise ConfigError(["trust --list goes alone"])
        return _told([(entry, _standing(entry)) for entry in trusted()], arguments.json)
    if not module:
        raise ConfigError(["holdfast trust needs a module, as in: holdfast trust my_mod, or --list"])
    module = module.partition(":")[0]
    if not arguments.remove:
        return _told([(trust(module), "trusted")], arguments.json)
    gone = forget(module)
    if not gone:
        known = [entry.module for entry in trusted()]
        raise UnknownName(f"module {module!r} is not trusted{nearest(module, known)}")
    return _told([(entry, "trusted no more") for entry in gone], arguments.json)


def _standing(entry: Trusted) -> str:
    if not Path(entry.file).is_file():
        return "gone"
    return "as trusted" if sums_of([Path(file) for file in entry.sums]) == entry.sums else "changed: not imported"


def _told(entries: list[tuple[Trusted, str]], as_json: bool) -> int:
    if as_json:
        print(json.dumps([{**entry._asdict(), "standing": standing} for entry, standing in entries]))
        return 0
    for entry, standing in entries:
        print(f"{entry.module}  {entry.file}  {standing} (since {entry.since})")
    if not entries:
        print("no module is trusted; naming one in train, rehearse or doctor does it, or: holdfast trust MODULE")
    return 0
