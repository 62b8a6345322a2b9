"""Games that installed packages bring, by entry points, and the folders that games keep beside their code.

A package names its world class in its pyproject.toml, and `holdfast train fishing` plays it:

    [project.entry-points."holdfast.games"]
    fishing = "my_package.world:Fishing"

Presets lie in a folder `presets` and kept policies in a folder `policies`, beside the module or where the class's
`Game` says. Ours are found by looking into the packages, so the core names no game.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from holdfast.kit.errors import WorldError

GROUP = "holdfast.games"
PACKAGE = Path(__file__).resolve().parents[1]
ROOMS = ("games/*", "worlds/*")  # where our own games and worlds live, each in a folder of its own


@cache
def plugins() -> dict[str, importlib.metadata.EntryPoint]:
    """The games of installed packages by name; nothing of theirs is imported."""
    return {point.name: point for point in importlib.metadata.entry_points(group=GROUP)}


def load_plugin(name: str) -> Any:
    """The world class that an entry point names; WorldError says which package it is of when it cannot be had."""
    point = plugins()[name]
    package = point.dist.name if point.dist is not None else "a package"
    try:
        return point.load()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise WorldError(f"game {name!r} of {package} ({point.value}) cannot be imported: {why}") from error


def folders(kind: str) -> list[Path]:
    """The folders called `kind` ("presets", "policies") of all games: ours first, then those of installed packages."""
    ours = [folder for room in ROOMS for folder in sorted(PACKAGE.glob(f"{room}/{kind}"))]
    theirs = [_folder_of(name, kind) for name in sorted(plugins())]
    return [folder for folder in (*ours, *theirs) if folder is not None and folder.is_dir()]


def _folder_of(name: str, kind: str) -> Path | None:
    """Where an installed game keeps its presets or policies; a game that cannot be imported has none to offer."""
    try:
        made = load_plugin(name)
    except WorldError:
        return None  # told when the game itself is asked for
    chosen = str(getattr(getattr(made, "game", None), kind, ""))
    if chosen:
        return Path(chosen)
    found = importlib.util.find_spec(plugins()[name].module)
    return Path(found.origin).parent / kind if found is not None and found.origin else None
