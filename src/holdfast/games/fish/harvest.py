"""Harvest: the moments before a policy's worst losses, kept as situations to train on.

    keys = harvest_keys(seed, iteration, rule.episodes)        # never those of an evaluation
    found = harvest(settings, make_act, keys, rule)            # settings: evaluation's, with the phase's fish count
    path = write_harvest(stem, settings, found, source)        # STEM.npz and its light twin STEM.json; None if empty

or all three after an evaluation of a run: `harvest_run`. A moment is kept only if enough of the deaths that follow it
could have been avoided. Nothing is ever taken out of an evaluation for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from holdfast.curriculum.deck_files import Source, read_deck, write_deck
from holdfast.curriculum.deck_light import write_light
from holdfast.curriculum.worst import worst_episodes
from holdfast.games.fish.world.decks import velocity_bins
from holdfast.games.fish.world.fish import Fish, FishSettings
from holdfast.games.fish.world.floor import CLASSIC_DEPTH, doomed_fish
from holdfast.kit.rng import derive
from holdfast.rollout.evaluate import play_once
from holdfast.worlds.api import Act, Situation, World

HARVEST_BLOCK = 1 << 32  # evaluations use lower blocks of seeds; each iteration's harvest has its own
BY_HAND = 1 << 31  # and this one to the command line

Bins = Counter[tuple[int, int]]  # of heading sector and speed bin


class HarvestRule(NamedTuple):
    """What is looked at, and what is kept of it."""

    episodes: int = 20
    worst: int = 4
    before: int = 20  # steps between the kept moment and the window with most deaths
    window: int = 20  # steps of that window
    least_avoidable: int = 2
    per_bin: int = 8  # most situations of one predator heading (30 degrees) and speed (0.4)


class Moment(NamedTuple):
    """A moment of a played episode."""

    situation: Situation  # of one lane
    death_step: np.ndarray  # [C] of the whole episode as it was played; -1 where a fish lived
    avoidable: int  # deaths after this moment that were not certain at it


class Harvest(NamedTuple):
    """The kept moments, worst episode first."""

    moments: tuple[Moment, ...]

    @property
    def situations(self) -> Situation:
        return Situation.joined([moment.situation for moment in self.moments])


def harvest_keys(seed: int, iteration: int, episodes: int) -> np.ndarray:
    """Seeds of their own for the harvest of one iteration."""
    base = np.uint64(derive(np.uint64(seed), np.uint64(HARVEST_BLOCK + iteration)))
    return np.array([derive(base, np.uint64(episode)) for episode in range(episodes)], np.uint64)


def densest_window(death_step: np.ndarray, width: int) -> int | None:
    """The first step of the `width` steps in which most fish died, the earliest of equals; None if none died."""
    deaths = np.sort(death_step[death_step > 0])
    if len(deaths) == 0:
        return None
    inside = np.searchsorted(deaths, deaths + width) - np.arange(len(deaths))
    return int(deaths[np.argmax(inside)])


def kept_times(death_step: np.ndarray, rule: HarvestRule) -> list[int]:
    """The beginning, and some steps before the worst window."""
    first = densest_window(death_step, rule.window)
    return [0] if first is None or first <= rule.before else [0, first - rule.before]


def harvest(
    settings: FishSettings,
    make_act: Callable[[World], Act],
    keys: np.ndarray,
    rule: HarvestRule,
    taken: Bins | None = None,
    threads: int = 1,
) -> Harvest:
    """Play these episodes and keep what the rule says; `taken` counts what is already there of each bin."""
    world = Fish(settings, len(keys), seed=0, threads=threads)
    death_step = play_once(world, make_act(world), keys)["death_step"]
    lived = np.where(death_step < 0, settings.steps, death_step)
    worst = worst_episodes((death_step < 0).sum(axis=1).tolist(), lived.tolist(), rule.worst)
    found = _play_again(
        world, make_act(world), keys, death_step, {lane: kept_times(death_step[lane], rule) for lane in worst}
    )
    return Harvest(_chosen(found, rule, taken or Counter()))


def _play_again(
    world: Fish, act: Act, keys: np.ndarray, death_step: np.ndarray, times: dict[int, list[int]]
) -> list[Moment]:
    """The same episodes in the same batch, stopped at the wanted times of each lane; in the order of `times`."""
    world.reset(keys=keys)
    found: dict[tuple[int, int], Moment] = {}
    for t in range(max((moment for some in times.values() for moment in some), default=0) + 1):
        lanes = [lane for lane, some in times.items() if t in some]
        if lanes:
            doomed = doomed_fish(world, 1 if world.rules.hunts else CLASSIC_DEPTH)
            for lane in lanes:
                avoidable = int(((death_step[lane] > t) & ~doomed[lane]).sum())
                saved = world.of_episode(world.save(np.array([lane])))
                found[lane, t] = Moment(saved, death_step[lane].copy(), avoidable)
        world.step(act(world))
    return [found[lane, t] for lane, some in times.items() for t in some]


def _chosen(found: list[Moment], rule: HarvestRule, taken: Bins) -> tuple[Moment, ...]:
    counts, kept = Counter(taken), []
    for moment in found:
        bin_ = _bins(moment.situation.rows["pred_vel"])[0]
        if moment.avoidable >= rule.least_avoidable and counts[bin_] < rule.per_bin:
            counts[bin_] += 1
            kept.append(moment)
    return tuple(kept)


def _bins(velocities: np.ndarray) -> list[tuple[int, int]]:
    return [(int(heading), int(speed)) for heading, speed in velocity_bins(velocities)]


def write_harvest(
    path: Path, settings: FishSettings, found: Harvest, source: Source, scale_speed: float = 1.0
) -> Path | None:
    """A full deck and beside it, ending in .json, the light one; None if there is nothing to write."""
    if not found.moments:
        return None
    world = Fish(settings, 1, seed=0)
    situations = found.situations
    note = f"{len(situations)} moments before avoidable deaths"
    per_item = {"avoidable": np.array([moment.avoidable for moment in found.moments], np.int32)}
    if scale_speed == 1.0:  # another speed has another future
        per_item["death_step"] = np.stack([moment.death_step for moment in found.moments])
    else:
        situations = world.scaled(situations, scale_speed)
        note += f"; predator speeds scaled by {scale_speed:g}"
    write_deck(path, world, settings, situations, source, note, per_item)
    velocities = situations.rows["pred_vel"].astype(np.float64)
    write_light(path.with_suffix(".json"), velocities, note, source=source._asdict())
    return path


# --- of a run --------------------------------------------------------------------------------------------------------


def harvest_path(folder: Path, iteration: int) -> Path:
    return folder / "decks" / f"harvest_iter{iteration:04d}.npz"


def bins_before(folder: Path, iteration: int) -> Bins:
    """What the harvests of earlier iterations of a run hold; later ones belong to a future that is lived again."""
    counts: Bins = Counter()
    for path in sorted((folder / "decks").glob("harvest_iter*.npz")):
        deck = read_deck(path)
        if deck.source.iteration < iteration and deck.situations is not None:
            counts.update(_bins(deck.situations.rows["pred_vel"]))
    return counts


def harvest_run(
    folder: Path,
    settings: FishSettings,
    make_act: Callable[[World], Act],
    keys: np.ndarray,
    rule: HarvestRule,
    source: Source,
    threads: int = 1,
) -> Path | None:
    """After an evaluation: a new deck in the run's `decks` folder, under the iteration of `source`."""
    found = harvest(settings, make_act, keys, rule, bins_before(folder, source.iteration), threads)
    return write_harvest(harvest_path(folder, source.iteration), settings, found, source)
