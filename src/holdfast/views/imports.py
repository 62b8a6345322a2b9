"""`holdfast import`: settings of other programs as presets of ours, with a note on all that is not the same."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from holdfast.config_checks import check_against_world
from holdfast.config_reading import from_table
from holdfast.curriculum.fish_command import import_command, without_defaults
from holdfast.disk import replace_file
from holdfast.errors import ConfigError
from holdfast.preset_text import preset_text
from holdfast.views.dry_run import spec_of


def import_fish_command(file: str, out: str | None) -> int:
    """Write the preset that a command line of the earlier fish trainer amounts to; notes go to standard error."""
    found = import_command(_read(file))
    notes = [str(note) for note in found.notes]
    comments = [
        f"From the command line of the earlier fish trainer in {file}, by `holdfast import fish-command`.",
        *(["Not as it was there:"] if notes else []),
        *(f"  {note}" for note in notes),
    ]
    text = preset_text("fish", dict(without_defaults(found.options)), comments)
    config, explicit = from_table(tomllib.loads(text), file)
    check_against_world(config, explicit, spec_of(config))
    for note in notes:
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


def _read(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"{file}: cannot be read: {error}"]) from error
