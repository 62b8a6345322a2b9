"""What a machine computes with: equal bytes need the same sources, packages and type of CPU."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import holdfast

PACKAGES = ("numpy", "numba", "llvmlite", "torch", "gymnasium")


@cache
def versions() -> dict[str, str]:
    """Of this process."""
    found = {"holdfast": holdfast.__version__, "sources": _sources(), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    return {**found, "cpu": _cpu()}


def _sources() -> str:
    """A digest of the package's files: a version's number says too little in a clone."""
    root = Path(holdfast.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def skew(ours: dict[str, str], theirs: dict[str, str]) -> list[str]:
    """What is not the same there."""
    return [
        f"{name} {theirs.get(name, 'missing')} (here {ours[name]})" for name in ours if theirs.get(name) != ours[name]
    ]
