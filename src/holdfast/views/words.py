"""Numbers of a run in a few words, for every view that has only a line for them."""

from __future__ import annotations

from collections.abc import Mapping


def shares_line(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:.0f}%" for name, share in shares.items() if share >= 0.005)


def key_numbers(metrics: Mapping[str, float | int]) -> str:
    """Episode means and entropies, the numbers one looks at first."""
    wanted = [name for name in metrics if name.startswith("episode.") or name.endswith(".entropy")]
    return ", ".join(f"{name.removeprefix('episode.').removeprefix('learner.')} {metrics[name]:.3g}" for name in wanted)
