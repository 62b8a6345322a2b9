"""Importing what a user names as `module:Name`, also from the folder the command is given in."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from holdfast.kit.errors import UnknownName, nearest


def import_path(path: str) -> Any:
    module_name, _, name = path.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a user's own world usually lies where the command is given
    try:
        module = importlib.import_module(module_name)
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
