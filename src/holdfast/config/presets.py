"""Where presets are, and what `train TARGET` means."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from holdfast.kit.errors import ConfigError, UnknownName, nearest


def preset_folders() -> list[Path]:
    """Presets shipped inside an installed package, or beside the sources in a clone."""
    package = Path(__file__).resolve().parents[1]
    return [folder for folder in (package / "configs", package.parents[1] / "configs") if folder.is_dir()]


def presets() -> dict[str, Path]:
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
    from holdfast.worlds.ours import OURS

    if target in OURS or ":" in target:
        return {"world": {"name": target}}, target
    raise UnknownName(
        f"no preset {target!r}{nearest(target, list(known))}; there are {', '.join(sorted(known))}; "
        "a .toml file, gym:ID or module:Class will do as well"
    )
