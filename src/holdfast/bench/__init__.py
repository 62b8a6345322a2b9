"""Benchmarks: each part against what one would use instead, taking turns in one run, as ratios with their spread."""

from __future__ import annotations

import json
from typing import Any


def bench(part: str, repeats: int, as_json: bool) -> int:
    """Run one benchmark and print it."""
    if part == "train":
        from holdfast.bench.training import bench_train as measure
    else:
        from holdfast.bench.worlds import bench_worlds as measure
    found = measure(repeats)
    print(json.dumps(found) if as_json else "\n".join(_lines(found)))
    return 0


def _lines(found: dict[str, Any]) -> list[str]:
    width = max(len(name) for name in found)
    return [f"{name:{width}}  {_shown(value)}" for name, value in found.items()]


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['median']:,.0f} (from {value['low']:,.0f} to {value['high']:,.0f})"
    return f"{value:,.2f}" if isinstance(value, float) else str(value)
