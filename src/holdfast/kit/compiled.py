"""Compiled kernels: one decorator, and a cache outside the clone that is keyed by the sources.

Numba's own cache notices a change in the file of a function, not in the functions it calls from other files, so a
stale entry can give false results. Here the cache folder's name is a hash of the file and of all it imports.
With NUMBA_DISABLE_JIT=1 the decorators return the plain Python functions (the twins that tests compare with).
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator

Function = TypeVar("Function", bound=Callable[..., Any])

SETTINGS: Any = numba.config
PACKAGE = Path(__file__).resolve().parents[1]
KEPT_DAYS = 30
WORD = re.compile(r"[\w.]+")
IMPORTS = re.compile(  # from SOURCE import NAMES, in brackets or not; import PLAIN
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))", re.MULTILINE
)


def cache_root() -> Path:
    """The folder for compiled code: $HOLDFAST_CACHE, else the user's cache folder."""
    chosen = os.environ.get("HOLDFAST_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "holdfast"


@cache
def _writable_root() -> Path:
    folder = cache_root() / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return _own_temporary_folder()


def _own_temporary_folder() -> Path:
    """One folder of this user's for all processes; compiled code is only taken from where nobody else can write."""
    folder = Path(tempfile.gettempdir()) / f"holdfast-cache-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return folder
    except OSError:
        pass
    alone = tempfile.mkdtemp(prefix="holdfast-cache-")
    atexit.register(shutil.rmtree, alone, ignore_errors=True)
    return Path(alone)


def imported_files(path: Path) -> set[Path]:
    """The files of this package that a file imports directly. Text that only looks like an import may add a file, which
    does no harm; parsing the generated machine as Python would take a fifth of a console's start."""
    modules: set[str] = set()
    for source, names, plain in IMPORTS.findall(path.read_text(encoding="utf-8")):
        modules |= {source, *(f"{source}.{name}" for name in WORD.findall(names)), *WORD.findall(plain)}
    places = [PACKAGE.parent.joinpath(*module.split(".")) for module in modules if module.split(".")[0] == "holdfast"]
    return {file for place in places for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()}


def kernel_sources(path: Path) -> list[Path]:
    """A file and all it imports from this package, in a fixed order; a user's own file brings its whole folder."""
    waiting = [path] if path.is_relative_to(PACKAGE) else sorted(path.parent.glob("*.py"))
    found: set[Path] = set()
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting.extend(imported_files(file))
    return sorted(found)


@cache
def cache_folder(source: Path) -> Path:
    """The cache for the kernels of one source file; its name changes with anything they are made of."""
    digest = hashlib.sha256()
    settings = (numba.__version__, np.__version__, sys.version, os.environ.get("NUMBA_BOUNDSCHECK", ""))
    digest.update(repr(settings).encode())
    for path in kernel_sources(source):  # a cached kernel names its module, so a moved file has another folder
        inside = path.is_relative_to(PACKAGE)
        digest.update((path.relative_to(PACKAGE).as_posix() if inside else path.name).encode())
        digest.update(path.read_bytes())
    root = _writable_root()
    folder = root / f"{source.parent.name}-{source.stem}-{digest.hexdigest()[:16]}"
    if not folder.exists():
        _remove_old(root)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _remove_old(root: Path) -> None:
    horizon = time.time() - KEPT_DAYS * 86400
    for folder in root.iterdir():
        if folder.stat().st_mtime < horizon:
            shutil.rmtree(folder, ignore_errors=True)


class _Locator(UserProvidedCacheLocator):
    """Keeps a kernel in the folder of its sources. Numba would add a folder per path of the source file, so that two
    clones of the same code compile everything twice."""

    def get_cache_path(self) -> str:
        return str(cache_folder(Path(self._py_file).resolve()))

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        found = cls(py_func, py_file)
        found.ensure_cache_path()
        return found


class _Layout(CompileResultCacheImpl):
    def __init__(self, function: Any) -> None:
        self._locator_classes = [_Locator]
        super().__init__(function)


class _Cache(FunctionCache):
    """Numba's cache of one function, in our folder; an entry that cannot be read is compiled again."""

    _impl_class = _Layout

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:
            print(f"{self.cache_path}: a compiled kernel is damaged ({error}): compiling it again", file=sys.stderr)
            self.flush()
            return None


def _compile(function: Function, **options: Any) -> Function:
    decorate: Any = numba.njit
    made: Any = decorate(nogil=True, error_model="numpy", **options)(function)
    if not SETTINGS.DISABLE_JIT:
        made._cache = _Cache(function)
    return cast(Function, made)


def kernel(function: Function) -> Function:
    """Compile a function that runs on one thread. No fast-math: bytes must not depend on the machine's mood."""
    return _compile(function)


def inlined(function: Function) -> Function:
    """Compile a small function into its callers. Passing a tuple of arrays to a call that is not inlined copies seven
    machine words per array, which costs more than the work of a simple lane."""
    return _compile(function, forceinline=True)


def contracted(function: Function) -> Function:
    """Like `kernel`, for the learner's matrix work: a multiply and an add may become one instruction. The order of
    operations stays as written, so bytes still do not depend on the number of threads."""
    return _compile(function, fastmath={"contract"})


def contracted_inlined(function: Function) -> Function:
    """Like `inlined`, with contraction."""
    return _compile(function, forceinline=True, fastmath={"contract"})


def contracted_parallel(function: Function) -> Function:
    """Like `parallel_kernel`, with contraction."""
    return _compile(function, parallel=True, fastmath={"contract"})


def parallel_kernel(function: Function) -> Function:
    """Compile a function whose `prange` loops run on the threads of `use_threads`. Keep its body small: it compiles
    slowly, so let it call a `kernel` per lane."""
    return _compile(function, parallel=True)


prange = numba.prange


def use_threads(count: int) -> None:
    """Give the next parallel kernels this many threads (at most what the process started with)."""
    count = min(count, SETTINGS.NUMBA_NUM_THREADS)
    if numba.get_num_threads() != count:
        numba.set_num_threads(count)


@contextmanager
def announced(name: str, source: str) -> Iterator[None]:
    """Around the first call of a world's kernels (`source` = their `__file__`): says when they are being compiled,
    and how long it took."""
    mark = cache_folder(Path(source).resolve()) / "compiled"
    if SETTINGS.DISABLE_JIT or mark.exists():
        yield
        return
    with _alone(name, mark.with_name("compiling")):
        if mark.exists():  # the process we waited for has compiled them
            yield
            return
        print(f"compiling the {name} kernels (first run after an install or a change) ...", file=sys.stderr, flush=True)
        started = time.perf_counter()
        with _no_collecting():
            yield
        elapsed_s = time.perf_counter() - started
        print(f"compiled the {name} kernels in {elapsed_s:.1f} s; kept in {mark.parent}", file=sys.stderr, flush=True)
        mark.write_text(f"{elapsed_s:.1f}\n")


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Numba makes millions of objects and keeps them; looking for garbage among them takes a sixth of the time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def _alone(name: str, lock: Path) -> Iterator[None]:
    """One process compiles, others wait and then read what it kept. The system lets go of a dead process's lock."""
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another process is compiling the {name} kernels: waiting for it ...", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
