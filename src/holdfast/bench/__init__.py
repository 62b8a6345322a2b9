"""Benchmarks: each part against what one would use instead, taking turns in one run, as ratios with their spread."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from holdfast.worlds.registry import own_game


def bench(arguments: argparse.Namespace) -> int:
    """Run one benchmark and print it."""
    found = _measure(arguments)
    print(json.dumps(found) if arguments.json else "\n".join(_lines(found)))
    return 0


def _measure(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.part == "train":
        from holdfast.bench.training import bench_train

        return bench_train(arguments.repeats)
    if arguments.part == "overlap":
        from holdfast.bench.overlap import bench_overlap

        return bench_overlap(arguments.repeats)
    if arguments.part == "world":
        from holdfast.bench.worlds import bench_worlds

        return bench_worlds(arguments.repeats)
    own = own_game(arguments.part).bench
    if own is not None:
        return own(arguments.rom or "", arguments.repeats, arguments.blocks)
    from holdfast.nes.bench import bench as bench_nes

    rom = Path(arguments.rom) if arguments.rom else None
    return bench_nes(rom, arguments.repeats, blocks=arguments.blocks)


def _lines(found: dict[str, Any]) -> list[str]:
    width = max(len(name) for name in found)
    return [f"{name:{width}}  {_shown(value)}" for name, value in found.items()]


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "median" in value:
        return f"{value['median']:,.0f} (from {value['low']:,.0f} to {value['high']:,.0f})"
    return f"{value:,.2f}" if isinstance(value, float) else str(value)
