"""All that a run leaves for readers: its metrics as one table, the pictures of its game, and the page."""

from __future__ import annotations

from pathlib import Path

from holdfast.runs.folder import RunFolder
from holdfast.runs.tables import write_table
from holdfast.views.report.page import write_report
from holdfast.worlds.registry import own_game


def write_whole_report(run: RunFolder, all_films: bool = False) -> Path:
    """Write metrics.parquet, media and report.html, whose path is returned.

    What is needed of the configuration is read as it is written, so no code of a world is imported.
    """
    config = run.describe()["config"]
    if config.get("metrics", {}).get("parquet", True):
        write_table(run.folder)
    game = own_game(config.get("world", {}).get("name"))
    if game.pictures is not None:
        game.pictures(run.folder, all_films)
    return write_report(run.folder)
