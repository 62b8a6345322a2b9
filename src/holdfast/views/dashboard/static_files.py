"""The page's own scripts and styles, and Plotly's script from the installed wheel; nothing from the network."""

from __future__ import annotations

import gzip
import hashlib
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from holdfast.kit.errors import MissingPackage

HERE = Path(__file__).parent / "static"
KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
INSTALL = "pip install 'holdfast[dashboard]'"


class Static(NamedTuple):
    """One file that is served as it is."""

    content: bytes
    kind: str
    tag: str

    @classmethod
    def of(cls, path: Path) -> Static:
        content = path.read_bytes()
        return cls(content, KINDS[path.suffix], hashlib.sha256(content).hexdigest()[:16])


def own_files() -> dict[str, Static]:
    return {path.name: Static.of(path) for path in sorted(HERE.iterdir()) if path.suffix in KINDS}


def plotly_path() -> Path:
    """Found without importing the package, whose Python side is not used."""
    found = find_spec("plotly")
    places = list(found.submodule_search_locations or []) if found else []
    path = Path(places[0]) / "package_data" / "plotly.min.js" if places else Path()
    if not path.is_file():
        raise MissingPackage(f"the dashboard draws with plotly, which is not installed: {INSTALL}")
    return path


class PlotlyScript:
    """Read when first asked for; packed for readers on other machines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        facts = path.stat()
        self.tag = f"{facts.st_size:x}-{int(facts.st_mtime):x}"

    @cached_property
    def plain(self) -> bytes:
        return self.path.read_bytes()

    @cached_property
    def packed(self) -> bytes:
        return gzip.compress(self.plain, 5)
