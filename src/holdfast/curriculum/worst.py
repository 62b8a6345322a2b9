"""Which episodes of an evaluation were the worst: the order in which they are filmed and kept."""

from __future__ import annotations

from collections.abc import Sequence


def worst_episodes(final_alive: Sequence[float], death_steps: Sequence[Sequence[int]], count: int) -> list[int]:
    """Indices of the `count` worst: fewest alive at the end, then earliest deaths, then the lower index.

    `death_steps` holds one row per episode, with the step limit for survivors.
    """
    order = sorted(range(len(final_alive)), key=lambda index: (final_alive[index], sum(death_steps[index]), index))
    return order[:count]
