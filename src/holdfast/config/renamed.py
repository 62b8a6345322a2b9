"""What earlier versions called options, and how a configuration that they wrote is read today."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

OF_GAMES = ("density", "boost", "bootstrap", "series")  # sections of single games that 0.1 wrote for every world


def renewed(table: dict[str, Any], sections: Iterable[str]) -> dict[str, Any]:
    """A configuration of 0.1 in today's words: sections of other games go, as they never acted."""
    kept = {name: value for name, value in table.items() if name not in OF_GAMES or name in sections}
    return _series_by_full_names(kept)


def _series_by_full_names(table: dict[str, Any]) -> dict[str, Any]:
    """`series.world` held options of the world alone, without its name."""
    series = table.get("series")
    if not isinstance(series, dict) or not isinstance(series.get("world"), dict):
        return table
    others = {name: value for name, value in series.items() if name != "world"}
    stages = {
        stage: {f"world.{name}": value for name, value in options.items()}
        for stage, options in series["world"].items()
        if isinstance(options, dict)
    }
    return {**table, "series": {**others, "stages": stages}}
