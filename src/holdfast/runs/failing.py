"""What an error means to the user, where no one nearer to it could say: at the edge of a run and of the process."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

from holdfast.kit.disk import REASONS, refused
from holdfast.kit.errors import EnvironmentExit, HoldfastError
from holdfast.runs.errors import OutOfMemory

NAMED = {errno.ENOSPC, errno.EDQUOT, *REASONS}


WORDS = ("can't allocate memory", "out of memory", "can't start new thread")


def named(error: BaseException) -> HoldfastError | None:
    """The error under a name of ours; None for one that is a defect, whose traceback is wanted."""
    if isinstance(error, HoldfastError):
        return error
    if isinstance(error, SystemExit):
        return EnvironmentExit(
            f"code of the world called sys.exit({'' if error.code is None else repr(error.code)}): an environment "
            "must raise an error or end its episode"
        )
    if is_out_of_memory(error):
        detail = f" ({error})" if str(error) else ""
        return OutOfMemory(
            f"out of memory{detail}: use fewer rollout.lanes or rollout.steps, a smaller learner.minibatch, or "
            "memory.auto = true"
        )
    if isinstance(error, OSError) and error.errno in NAMED:
        return refused(error, Path(str(error.filename or "a file")))
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """NumPy, Arrow and Python raise MemoryError, or ENOMEM for a file; torch says it in words on the CPU and has a
    class of its own on a GPU."""
    if isinstance(error, (MemoryError, OutOfMemory)) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    text = str(error).lower()
    if isinstance(error, ImportError) and ("failed to map segment" in text or "cannot allocate memory" in text):
        return True  # a library that no room was left for
    if isinstance(error, RuntimeError) and any(words in text for words in WORDS):
        return True
    torch = sys.modules.get("torch")  # an error of torch comes from where it was imported
    return torch is not None and isinstance(error, torch.OutOfMemoryError)
