"""Whose code may be imported: modules that the user named in this command, or trusted as they are now.

A run folder, a deck or a kept policy says by name which world it belongs to. Importing that name runs the module, so a
name from a file decides nothing: the user names the module (`holdfast train my_mod:World`, `--trust my_mod`), which is
kept with the file's hash, and from then on the same file is imported wherever a file names it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.kit.disk import replace_file
from holdfast.kit.errors import HoldfastError, UntrustedModule

OURS = "holdfast."  # what comes with the package
LETTERS = 24  # of a hash, in the name of a file of the store
_named: set[str] = set()  # by the user of this process


class Trusted(NamedTuple):
    """A module that the user trusts as long as its files are these."""

    module: str
    file: str  # of the module itself
    sums: dict[str, str]  # file -> sha256, of the module and of the packages around it
    since: str


# --- names ------------------------------------------------------------------------------------------------------------


def module_of(world: str) -> str | None:
    """The module that a world's name imports: of `module:Class` and `gym:module:ID`; None for ours and for what
    installed packages have registered with Gymnasium."""
    if world.startswith("gym:"):
        return world.removeprefix("gym:").rpartition(":")[0] or None
    module, colon, _ = world.partition(":")
    is_ours = module.startswith(OURS) and not module.endswith("__main__")  # importing that runs the command line
    return module if colon and not is_ours else None


def name_world(world: str) -> None:
    """The user named this world: its module may be imported in this process, and is trusted from then on."""
    module = module_of(world)
    if module:
        _named.add(module)


def name_module(module: str) -> None:
    """The user named this module."""
    _named.add(module.partition(":")[0])


# --- admission --------------------------------------------------------------------------------------------------------


def admit(world: str) -> None:
    """UntrustedModule unless the world's module may be imported; afterwards it can be, from the working folder too."""
    module = module_of(world)
    if module is None or module in sys.modules:  # what the program itself has imported runs nothing by being named
        return
    files = files_of(module)
    if files is None:
        return  # there is nothing to import, as whoever tries will say
    if module not in _named:
        _refuse_unknown(world, module, files)
    if _lies_here(files) and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # at the end: what lies there hides no installed package


def may_call(world: str, function: Callable[..., Any]) -> bool:
    """Whether a function that a world's name leads to may be called to make environments: only one that is defined in a
    module that the user named or trusts as it is, so that a file cannot name `os:system`."""
    module = module_of(world)
    if module is None or function.__module__ != module:
        return False
    if module in _named:
        return True
    files = files_of(module)
    known = _kept(files[-1]) if files else None
    return known is not None and known.sums == sums_of(files or [])


def _lies_here(files: list[Path] | None) -> bool:
    return files is not None and len(files) > 0 and files[-1].is_relative_to(Path.cwd())


def importing(world: str) -> AbstractContextManager[None]:
    """Around the import of an admitted module: one that lies in the working folder finds its neighbours first."""
    module = module_of(world)
    return first_from_here() if module is not None and _lies_here(files_of(module)) else nullcontext()


def _refuse_unknown(world: str, module: str, files: list[Path]) -> None:
    known = _kept(files[-1]) if files else None
    if known is not None and known.sums == sums_of(files):
        return
    ending = f"read it, then add --trust {module} to this command, or: holdfast trust {module}"
    if known is not None:
        raise UntrustedModule(
            f"world {world}: {files[-1]} has changed since {known.since}, when it was last named or trusted; {ending}"
        )
    where = f" ({files[-1]})" if files else ""
    raise UntrustedModule(
        f"world {world}: module {module}{where} was neither named in this command nor trusted, so it is not imported; "
        f"{ending}"
    )


def keep_if_named(world: str) -> None:
    """Remember a module that the user named, once it could be imported."""
    module = module_of(world)
    if module is not None and module in _named:
        try:
            trust(module)
        except HoldfastError as error:
            print(f"note: {error}; module {module} has to be named again next time", file=sys.stderr)


@contextmanager
def first_from_here() -> Iterator[None]:
    """Inside the block modules of the working folder come first, as for a script that lies there."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(here)


def files_of(module: str) -> list[Path] | None:
    """The files that importing a module would run: of the packages around it, and its own last. None of them is run
    to find out. None where there is no such module; empty for one without a file, as those inside Python are."""
    parts = module.split(".")
    found: list[Path] = []
    spec: ModuleSpec | None = None
    with first_from_here():
        for depth in range(len(parts)):
            name = ".".join(parts[: depth + 1])
            try:
                if depth == 0:
                    spec = importlib.util.find_spec(name)
                else:
                    assert spec is not None
                    spec = PathFinder.find_spec(name, spec.submodule_search_locations)
            except (ImportError, ValueError, AttributeError):
                spec = None
            if spec is None:
                return None
            if spec.origin is not None and spec.has_location:
                found.append(Path(spec.origin).resolve())
    return found if spec is not None and spec.has_location else []


# --- the store --------------------------------------------------------------------------------------------------------


def store() -> Path:
    """One small file for each trusted module."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "holdfast" / "trusted"


def trust(module: str) -> Trusted:
    """Keep a module as it is now."""
    files = files_of(module)
    if not files:
        raise UntrustedModule(f"no module {module!r} with a file can be found from {Path.cwd()}")
    entry = Trusted(module, str(files[-1]), sums_of(files), time.strftime("%Y-%m-%d %H:%M"))
    before = _kept(files[-1])
    if before is None or before.sums != entry.sums:
        replace_file(_place(files[-1]), json.dumps(entry._asdict(), indent=1).encode())
    return entry


def trusted() -> list[Trusted]:
    """All that is kept, by module."""
    places = sorted(store().glob("*.json")) if store().is_dir() else []
    return sorted(entry for entry in map(_read, places) if entry is not None)


def forget(module: str) -> list[Trusted]:
    """Remove what is kept under this module's name; what was removed."""
    gone = [entry for entry in trusted() if entry.module == module]
    for entry in gone:
        _place(Path(entry.file)).unlink(missing_ok=True)
    return gone


def _place(file: Path) -> Path:
    return store() / f"{hashlib.sha256(os.fsencode(file)).hexdigest()[:LETTERS]}.json"


def _kept(file: Path) -> Trusted | None:
    found = _read(_place(file))
    return found if found is not None and found.file == str(file) else None


def _read(place: Path) -> Trusted | None:
    try:
        found = Trusted(**json.loads(place.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None  # not one of ours: nothing is trusted by it
    return found if isinstance(found.sums, dict) else None


def sums_of(files: list[Path]) -> dict[str, str]:
    sums = {}
    for file in files:
        with suppress(OSError):
            sums[str(file)] = hashlib.sha256(file.read_bytes()).hexdigest()
    return sums
