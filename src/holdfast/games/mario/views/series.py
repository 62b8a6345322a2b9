"""A series of runs on the terminal, and its table."""

from __future__ import annotations

import argparse
import json
import sys

from holdfast.config.sections import Config
from holdfast.games.mario.series import Series, table
from holdfast.views.terminal import make_watch


def show_series(config: Config, arguments: argparse.Namespace) -> int:
    """Train until all stages are done or somebody interrupts; the exit status."""
    stream = sys.stderr if arguments.json else sys.stdout

    def say(text: str) -> None:
        print(text, file=stream, flush=True)

    series = Series(config, arguments.target, lambda: make_watch(True, stream), say)
    status = series.go()
    rows = [series.rows[stage] for stage in sorted(series.rows)]
    print(json.dumps(rows) if arguments.json else table(rows), flush=True)
    return status
