"""From what a program gives as a target (a text, a path, a class, a function) to the name that a run folder keeps.

A run is continued, evaluated and filmed by other processes, which must find its world again by that name. So a class
has to be where an import finds it, as `module:Name`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast.kit.errors import ConfigError, UnknownName
from holdfast.worlds.ours import OURS

OWN_FILE = "define it in a file of its own, such as my_world.py, and import it from there"
_importing: list[str] = []  # scripts that are being imported a second time, under their own names


def target_name(target: Any) -> str:
    """The name behind a target of `train`: a preset, a .toml file, `gym:ID` or `module:Name`."""
    if _importing:
        raise ConfigError(
            [
                f"{_importing[-1]} trains as soon as it is imported, but other processes have to import it to find its "
                'world: put the call under `if __name__ == "__main__":`'
            ]
        )
    if isinstance(target, str):
        return target
    if isinstance(target, Path):
        return str(target)
    if not callable(target) or not hasattr(target, "__qualname__"):
        raise ConfigError(
            [
                f"{target!r} is no target: give the name of a preset, a .toml file, gym:ID, module:Name, or a class or "
                "function that makes the world (not one that is made already: every lane needs its own)"
            ]
        )
    return _importable(target)


def _importable(made: Any) -> str:
    """`module:Name` of a class or function, from which another process gets the same one."""
    module, name = str(made.__module__), str(made.__qualname__)
    if not name.isidentifier():
        raise UnknownName(
            f"{module}.{name} has no name that a run folder could keep (it is made inside a function, a class or an "
            f"expression): {OWN_FILE}"
        )
    if module == "__main__":
        return f"{_module_of_script(name)}:{name}"
    if getattr(sys.modules.get(module), name, None) is not made:
        raise UnknownName(f"{module}:{name} is not what {module} has under that name now: {OWN_FILE}")
    path = f"{module}:{name}"
    return next((ours for ours, place in OURS.items() if place == path), path)


def _module_of_script(name: str) -> str:
    """The module that a script is when it is imported; it is imported here, to see that this can be done."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)  # of `python -m package.module`
    file = getattr(main, "__file__", None)
    if file is None:
        raise UnknownName(
            f"{name} is defined in a notebook or at a prompt, where no other process can find it again: {OWN_FILE} "
            "(in a notebook: %%writefile my_world.py)"
        )
    module = spec.name if spec is not None else Path(file).stem
    if not _is_found_as(module, Path(file)):
        raise UnknownName(f"{name} is defined in {file}, which cannot be imported as {module!r}: {OWN_FILE}")
    with _imported_again(file):
        again = importlib.import_module(module)
    if not hasattr(again, name):
        raise UnknownName(f"{name} is defined in {file} only while that runs as a script: {OWN_FILE}")
    return module


def _is_found_as(module: str, file: Path) -> bool:
    if not all(part.isidentifier() for part in module.split(".")):
        return False
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == file.resolve()


@contextmanager
def _imported_again(file: str) -> Iterator[None]:
    _importing.append(file)
    try:
        yield
    finally:
        _importing.pop()
