"""The supervisor of a run whose environments live in workers: its settings and its place in the run's folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.config.sections import Config
from holdfast.runs.folder import RunFolder
from holdfast.worlds.workers.supervisor import Supervisor, is_supervised


def supervisor_of(config: Config, run: RunFolder | None) -> Supervisor | None:
    """None if the run has no workers. Without a run, markers and logs go to a temporary folder."""
    folder: Path | None = None if run is None else run.folder
    return Supervisor(config.workers, folder) if is_supervised(config.world) else None


@contextmanager
def supervised(config: Config, run: RunFolder | None = None) -> Iterator[Supervisor | None]:
    """For worlds that are made, used and closed in one place."""
    supervisor = supervisor_of(config, run)
    try:
        yield supervisor
    finally:
        if supervisor is not None:
            supervisor.close()
