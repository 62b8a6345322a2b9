"""Where presets are, and what `train TARGET` means."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from holdfast.kit.errors import ConfigError, UnknownName, nearest
from holdfast.worlds.plugins import folders


def preset_folders() -> list[Path]:
    """Where games keep their presets: ours, and those of installed packages."""
    return folders("presets")


def presets() -> dict[str, Path]:
    """All presets by name; ours go before those of installed packages."""
    return {path.stem: path for folder in reversed(preset_folders()) for path in sorted(folder.glob("*.toml"))}


def read_toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"{path}: not valid TOML: {error}"]) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"{path}: cannot be read: {error}"]) from error


def find_target(target: str) -> tuple[dict[str, Any], str]:
    """What `train TARGET` means: a preset, a TOML file, or a world's name; the table and where it came from."""
    known = presets()
    if target in known:
        return read_toml(known[target]), str(known[target])
    if target.endswith(".toml"):
        if not Path(target).is_file():
            raise UnknownName(f"no file {target}")
        return read_toml(Path(target)), target
    from holdfast.worlds.registry import world_names

    worlds = world_names()
    if target in worlds or ":" in target:
        return {"world": {"name": target}}, target
    raise UnknownName(
        f"no preset {target!r}{nearest(target, [*known, *worlds])}; there are "
        f"{', '.join(sorted({*known, *worlds}))}; "
        "a .toml file, gym:ID or module:Class will do as well"
    )
