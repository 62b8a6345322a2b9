"""What the engine asks of whoever runs its pieces, and how a study is run this time."""

from __future__ import annotations

import os
from typing import NamedTuple, Protocol

from holdfast.studies.piece import Piece


class How(NamedTuple):
    """How a study is run this time; nothing of it changes what comes out, but for the batch of a new search."""

    jobs: int | None = None  # side by side; None: one per core
    on: str = "local"  # or ray, ray://host:port, auto
    storage: str = ""  # folder that all nodes of a cluster see
    piece: int = 0  # iterations of a piece on a cluster; 0: the interval of checkpoints
    strict: bool = False  # refuse nodes with other versions
    retry_failed: bool = False


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0))


class Ended(NamedTuple):
    """A worker that is gone."""

    trial: int
    status: int | None  # negative: killed by that signal; None: started by an earlier driver
    elapsed_s: float
    last_words: str = ""  # what it wrote
    log: str = ""  # file below the study's folder
    notes: tuple[str, ...] = ()


class Executor(Protocol):
    """Where pieces are worked on."""

    slots: int  # side by side
    compiles_here: bool  # kernels compiled by one worker serve all others

    def start(self, piece: Piece) -> str: ...  # a note for the user, or nothing
    def ended(self) -> list[Ended]: ...
    def interrupt(self, number: int) -> None: ...
    def cpu_shares(self) -> dict[int, float]: ...
    def close(self) -> None: ...
