"""The task that Ray runs on a node: one worker process for one piece, its run folder shipped or on shared storage."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.runs.folder import is_locked
from holdfast.studies.local import share_of_cores
from holdfast.studies.piece import Piece
from holdfast.studies.shipping import Parcel, digests, pack, unpack
from holdfast.studies.versions import skew, versions
from holdfast.studies.worker import DIES_WITH

LOOK_S = 0.05
ASK_S = 1.0  # between two questions whether the study is to stop
LONGEST_WAIT_S = 60.0  # for the process of a driver that is gone


class Order(NamedTuple):
    """What a node is told."""

    piece: Piece
    parcel: Parcel | None  # None: the run folder is on storage that the node sees
    versions: dict[str, str]
    strict: bool


class Answer(NamedTuple):
    """What it says when the piece's process is gone."""

    status: int
    words: str
    parcel: Parcel | None
    node: str
    skew: list[str]


def work(order: Order, board: Any) -> Answer:
    """Run the piece's worker until it ends, or until the study stops."""
    import ray

    node = socket.gethostname() + ":" + ray.get_runtime_context().get_node_id()[:8]
    other = skew(order.versions, versions())
    if other and order.strict:
        return Answer(
            2, f"holdfast: error: node {node} is not as strict needs it: {', '.join(other)}", None, node, other
        )
    board.began.remote(order.piece.trial, node)
    if order.parcel is None:
        status, words = _run(order.piece, board)
        return Answer(status, words, None, node, other)
    scratch = Path(tempfile.mkdtemp(prefix="holdfast-piece-"))
    try:
        piece = order.piece.moved(scratch)
        if order.parcel.files:
            unpack(order.parcel, piece.folder)
        before = digests(piece.folder)
        status, words = _run(piece, board)
        return Answer(status, words, pack(piece.folder, before), node, other)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run(piece: Piece, board: Any) -> tuple[int, str]:
    """Status and words of the worker. It dies with this process, so that no two ever have the run."""
    import ray

    begun_s = asked_s = time.monotonic()
    while is_locked(piece.folder) and time.monotonic() - begun_s < LONGEST_WAIT_S:
        time.sleep(LOOK_S)
    with tempfile.TemporaryFile() as log:
        environment = {**os.environ, **share_of_cores(piece.threads), DIES_WITH: str(os.getpid())}
        process = subprocess.Popen(piece.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        told = False
        try:
            while process.poll() is None:
                time.sleep(LOOK_S)
                if not told and time.monotonic() - asked_s > ASK_S:
                    asked_s = time.monotonic()
                    if ray.get(board.stopping.remote()):
                        process.send_signal(signal.SIGINT)
                        told = True
        finally:
            process.kill()
        log.seek(0)
        return process.wait(), log.read().decode(errors="replace")


class Board:
    """What nodes and driver tell each other while pieces are worked on; an actor without a core of its own."""

    def __init__(self) -> None:
        self.stop = False
        self.nodes: dict[int, list[str]] = {}

    def began(self, trial: int, node: str) -> None:
        self.nodes.setdefault(trial, []).append(node)

    def began_on(self, trial: int) -> list[str]:
        """The nodes that began this piece; more than one if nodes were lost."""
        return self.nodes.pop(trial, [])

    def stop_all(self) -> None:
        self.stop = True

    def stopping(self) -> bool:
        return self.stop
