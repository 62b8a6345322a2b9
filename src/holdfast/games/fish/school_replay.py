"""The worst episodes of an evaluation, kept: as tracks to be filmed, and as a deck of their beginnings.

Tracks are written down while the evaluation is played, so that a film shows what was judged and nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.curriculum.deck_files import Source, write_deck
from holdfast.curriculum.worst import worst_episodes
from holdfast.games.fish.world.fish import Fish
from holdfast.games.fish.world.school import POOL_RADIUS
from holdfast.worlds.api import Act, Episodes, Situation, World

MEDIA, DECKS = "media", "decks"


class Tracks:
    """Wraps the policy that plays an evaluation, and writes down where everyone was before each of its steps."""

    def __init__(self, act: Act, world: World) -> None:
        assert isinstance(world, Fish)
        self.act = act
        self.start: Situation | None = None
        self.fish: list[np.ndarray] = []  # of [E, F, 2]
        self.predator: list[np.ndarray] = []  # of [E, 2]

    def __call__(self, world: World) -> dict[str, np.ndarray]:
        assert isinstance(world, Fish)
        if self.start is None:
            self.start = world.of_episode(world.save(world.chosen(None)))
        self.fish.append(world.state.fish_pos.astype(np.float16))
        self.predator.append(world.state.pred_pos.astype(np.float16))
        return self.act(world)


class Replay(NamedTuple):
    """One kept episode."""

    fish: np.ndarray  # [T, F, 2] f16, before each step
    predator: np.ndarray  # [T, 2] f16
    death_step: np.ndarray  # [F], -1 where a fish lived
    episode: int
    pool: float  # radius


def tracks_path(folder: Path, iteration: int) -> Path:
    return folder / MEDIA / f"worst_iter{iteration:04d}.npz"


def keep_worst(
    folder: Path, tracks: Tracks, episodes: Episodes, settings: Any, count: int, source: Source
) -> list[int]:
    """The `count` worst episodes of an evaluation into the run's folder; their indices, worst first."""
    death = episodes["death_step"]
    lived = np.where(death < 0, settings.steps, death)
    worst = worst_episodes((death < 0).sum(axis=1).tolist(), lived.tolist(), count)
    path = tracks_path(folder, source.iteration)
    path.parent.mkdir(exist_ok=True)
    steps = episodes["length"][worst].astype(int)
    longest = int(steps.max())
    np.savez_compressed(
        path,
        fish=np.stack(tracks.fish[:longest])[:, worst],
        predator=np.stack(tracks.predator[:longest])[:, worst],
        death_step=death[worst],
        steps=steps,
        episode=np.array(worst),
        pool=np.array(settings.pool_radius),
    )
    assert tracks.start is not None
    world = Fish(settings, 1, seed=0)
    beginnings = tracks.start.take(np.array(worst))
    note = f"the {len(worst)} worst episodes of the evaluation, from their first step"
    deck = folder / DECKS / f"worst_iter{source.iteration:04d}.npz"
    write_deck(deck, world, settings, beginnings, source, note, {"death_step": death[worst]})
    return worst


def read_replays(path: Path) -> list[Replay]:
    """The episodes of one file, worst first."""
    with np.load(path, allow_pickle=False) as kept:
        pool = float(kept["pool"]) if "pool" in kept else POOL_RADIUS  # older versions had one pool
        fish, predator, death, episode = (kept[name] for name in ("fish", "predator", "death_step", "episode"))
        return [
            Replay(fish[:steps, k], predator[:steps, k], death[k], int(episode[k]), pool)
            for k, steps in enumerate(kept["steps"])
        ]
