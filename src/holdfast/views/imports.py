"""`holdfast import`: settings of other programs as presets of ours, with a note on all that is not the same."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from holdfast.config.checks import check_against_world
from holdfast.config.preset_text import preset_text
from holdfast.config.reading import from_table
from holdfast.config.sections import known_options, sections_for
from holdfast.kit.disk import replace_file
from holdfast.kit.errors import ConfigError, nearest
from holdfast.views.dry_run import spec_of
from holdfast.worlds.game import Imported
from holdfast.worlds.ours import OURS
from holdfast.worlds.registry import own_game, world_class


def import_settings(source: str, file: str, out: str | None) -> int:
    """Write the preset that a file of another program amounts to; notes go to standard error.

    `source` is a game's name and what it reads, as in fish-command.
    """
    sources = {f"{world}-{what}": (world, read) for world in OURS for what, read in own_game(world).imports.items()}
    if source not in sources:
        raise ConfigError([f"no source {source!r}{nearest(source, list(sources))}; there are {', '.join(sources)}"])
    world, read = sources[source]
    found = read(_read(file))
    text = preset_text(world, _as_said(world, found), _comments(source, file, found))
    config, explicit = from_table(tomllib.loads(text), file)
    check_against_world(config, explicit, spec_of(config))
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    if out is None:
        print(text, end="")
        return 0
    try:
        replace_file(Path(out), text.encode())
    except OSError as error:
        raise ConfigError([f"--out {out}: cannot be written: {error}"]) from error
    print(f"preset: {out}", file=sys.stderr)
    return 0


def _as_said(world: str, found: Imported) -> dict[str, object]:
    """Only what must be said, in the order of our options: all else is as here."""
    made = world_class(world)
    known = known_options(sections_for(made.Settings, made.game.sections))
    return {
        name: found.options[name]
        for name, info in known.items()
        if name in found.options and found.options[name] != info.default
    }


def _comments(source: str, file: str, found: Imported) -> list[str]:
    said = [f"From {Path(file).name}, by `holdfast import {source}`."]
    return [*said, "Not as it was there:", *(f"  {note}" for note in found.notes)] if found.notes else said


def _read(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"{file}: cannot be read: {error}"]) from error
