"""Stacks of all threads, written to `traces/` of the run when it is silent or slow."""

from __future__ import annotations

import faulthandler
import os
import threading
from pathlib import Path

from holdfast.runs.heartbeat import utc


def write_trace(folder: Path, kind: str, reason: str) -> Path:
    """`traces/KIND_<UTC>.log`: why it was written, then what every thread is doing."""
    path = traces_folder(folder) / f"{kind}_{utc().replace(':', '').replace('-', '')}.log"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        names = ", ".join(f"{thread.name} = 0x{thread.ident:016x}" for thread in threading.enumerate() if thread.ident)
        file.write(f"{reason}\nthreads: {names}\n\n")
        file.flush()
        faulthandler.dump_traceback(file, all_threads=True)
    return path


def traces_folder(folder: Path) -> Path:
    place = folder / "traces"
    place.mkdir(exist_ok=True)
    return place
