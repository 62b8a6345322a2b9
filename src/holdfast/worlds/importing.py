"""Importing what is named as `module:Name`, also from the folder the command is given in, if `trust` admits it."""

from __future__ import annotations

import importlib
from typing import Any

from holdfast.kit.errors import UnknownName, nearest
from holdfast.worlds.trust import admit, importing, keep_if_named


def import_path(path: str) -> Any:
    module_name, _, name = path.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), name)):
        raise UnknownName(f"world {path!r}: a world of your own is named module:Class, as in my_mod:World")
    try:
        module = import_admitted(path, module_name)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        raise UnknownName(
            f"world {path!r}: no module {error.name!r} can be imported from here; "
            f"if {missing} is a package, install it: pip install {missing}"
        ) from error
    try:
        return getattr(module, name)
    except AttributeError:
        classes = [key for key, value in vars(module).items() if isinstance(value, type)]
        raise UnknownName(f"world {path!r}: module {module_name} has no {name!r}{nearest(name, classes)}") from None


def import_admitted(world: str, module: str) -> Any:
    """The module behind a world's name, or UntrustedModule."""
    admit(world)
    with importing(world):
        found = importlib.import_module(module)
    keep_if_named(world)
    return found
