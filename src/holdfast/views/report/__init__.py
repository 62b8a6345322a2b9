"""A run folder as one self-contained page: `write_report`. Charts, axes and markup are also used by other pages."""

from __future__ import annotations

from pathlib import Path


def write_report(folder: Path) -> Path:
    """Write `report.html` into a run folder and return its path."""
    from holdfast.views.report.page import write_report as write  # with it comes all that a run can contain

    return write(folder)


__all__ = ["write_report"]
