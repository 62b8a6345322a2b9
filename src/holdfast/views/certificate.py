"""A best-response test as a table: what each challenger gained, and whether to believe it."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table


def print_response(found: dict[str, Any], console: Console) -> None:
    table = Table("challenger", "incumbent wins", "challenger wins", "gap", "95 % interval", "power check")
    for name, side in found["sides"].items():
        best = max(one["rate"] for one in side["challengers"].values())
        checks = ", ".join(f"{what}: {'yes' if passed else 'no'}" for what, passed in side["power"]["checks"].items())
        interval = f"{side['low']:+.3f} to {side['high']:+.3f}"
        table.add_row(name, f"{side['incumbent']:.3f}", f"{best:.3f}", f"{side['gap']:+.3f}", interval, checks)
    console.print(table)
    limit = found["pass_gap"]
    console.print(f"best-response gap {found['gap']:.3f} (limit {limit:g}): {found['verdict']}", highlight=False)
