"""Where presets are, and what `train TARGET` means."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from holdfast.config.foreign_names import environment_hint
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


def read_preset(path: Path) -> dict[str, Any]:
    """The options of a preset, those of its base under its own: `base = "pursuit-v"`, or a .toml file beside it."""
    return _with_bases(path, ())


def _with_bases(path: Path, before: tuple[Path, ...]) -> dict[str, Any]:
    if path.resolve() in before:
        round_trip = " -> ".join(one.name for one in (*before, path))
        raise ConfigError([f"{path}: base goes round in a circle: {round_trip}"])
    table = read_toml(path)
    base = table.pop("base", None)
    if base is None:
        return table
    return _over(_with_bases(_base_path(base, path), (*before, path.resolve())), table)


def _base_path(base: Any, path: Path) -> Path:
    known = presets()
    if not isinstance(base, str):
        raise ConfigError([f"{path}: base must be the name of a preset or of a .toml file, not {base!r}"])
    if base in known:
        return known[base]
    beside = path.parent / base
    if base.endswith(".toml") and beside.is_file():
        return beside
    what = f"file {beside}" if base.endswith(".toml") else f"preset {base!r}{nearest(base, list(known))}"
    raise UnknownName(f"{path}: base = {base!r}: there is no {what}")


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Two tables as one; where both have a value, the upper one's counts."""
    found = dict(below)
    for key, value in above.items():
        under = found.get(key)
        found[key] = _over(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return found


def find_target(target: str) -> tuple[dict[str, Any], str]:
    """What `train TARGET` means: a preset, a TOML file, or a world's name; the table and where it came from."""
    known = presets()
    if target in known:
        return read_preset(known[target]), str(known[target])
    if target.endswith(".toml"):
        if not Path(target).is_file():
            raise UnknownName(f"no file {target}")
        return read_preset(Path(target)), target
    from holdfast.worlds.registry import world_names

    worlds = world_names()
    if target in worlds or ":" in target:
        return {"world": {"name": target}}, target
    raise UnknownName(
        f"no preset {target!r}{environment_hint(target) or nearest(target, [*known, *worlds])}; there are "
        f"{', '.join(sorted({*known, *worlds}))}; "
        "a .toml file, gym:ID or module:Class will do as well"
    )
