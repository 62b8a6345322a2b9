"""A process that has imported what is slow to import, and forks for each command: torch is half of a small run.

Reads one JSON line per command from standard input: {"words", "cwd", "out"}. Answers with the command's process id,
and at its end with its exit status. A command runs as `python -m holdfast WORDS` would, in this process's environment.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import runpy
import sys
from typing import Any

SLOW = ("torch", "numba", "gymnasium", "scipy.linalg", "safetensors.torch", "rich.console", "rich.live", "rich.table")


OTHER_SOURCES = 4  # exit status that no command has


def serve() -> None:
    for name in SLOW:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            begin(json.loads(line))
            runpy.run_module("holdfast", run_name="__main__", alter_sys=True)
            return
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def begin(request: dict[str, Any]) -> None:
    """Become the command: its folder, its words, and files for what it says."""
    os.chdir(request["cwd"])
    sys.argv = ["holdfast", *request["words"]]
    sys.path[0] = request["cwd"]  # as `python -m` has it; the package comes from PYTHONPATH, which follows
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for handle, path in ((0, os.devnull), (1, f"{request['out']}.out"), (2, f"{request['out']}.err")):
        os.dup2(os.open(path, os.O_RDONLY if handle == 0 else flags), handle)
    refuse_other_sources(os.environ["PYTHONPATH"].split(os.pathsep)[0])


def refuse_other_sources(wanted: str) -> None:
    """An installed package would take the place of a tree that is gone, and nobody would know."""
    found = importlib.util.find_spec("holdfast")
    origin = None if found is None else found.origin
    if origin is None or not origin.startswith(wanted + os.sep):
        print(f"holdfast would be imported from {origin}, not from {wanted}", file=sys.stderr)
        sys.exit(OTHER_SOURCES)


if __name__ == "__main__":
    serve()
