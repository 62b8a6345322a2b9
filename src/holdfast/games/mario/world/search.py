"""Snapshot search: presses that bring the player through a stage, found by trying and keeping what lives and gets far.

From the best console so far, candidates of a few random presses are run side by side on copies; those that are still
alive a while later count, the furthest wins. What is found is a press list that replays to the same end: the proof that
a stage can be cleared by this cartridge on this console.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from holdfast.games.mario.world import facts
from holdfast.games.mario.world.frames import copy_row, run, watch
from holdfast.games.mario.world.mario import Mario
from holdfast.games.mario.world.play import CASTLE, FLAG, GOES_ON, MAX_X, RAW_TOTAL, ROOMS, STAGE_NUMBER, TRACK_COLUMNS
from holdfast.games.mario.world.rules import open_accounts
from holdfast.kit.compiled import kernel, parallel_kernel, prange, use_threads

CANDIDATES, PRESSES, PRESS_FRAMES, SURVIVE_FRAMES = 48, 3, 12, 48
MOST_ROUNDS = 400
BACK_UP = 4  # rounds that are taken back when no candidate lives
ACCOUNTS = RAW_TOTAL + 1


class Found(NamedTuple):
    """A press list: buttons of each frame from the stage's start, and how it ended."""

    stage: int
    presses: np.ndarray  # [frames] u8
    reason: int
    x: int


@kernel
def try_presses(row, words, track, fixed, rules, presses, star):  # type: ignore[no-untyped-def]
    """Run frames of presses; returns the reason of an end and the frame it came in. `star` keeps Mario invulnerable."""
    for frame in range(presses.shape[0]):
        if star:
            row[facts.STAR_TIMER] = 0x20
        if facts.busy(row):
            facts.shorten_waits(row)
        run(row, words, track, fixed, rules, np.int64(presses[frame]))
        reason, _, _ = watch(row, track, rules)
        if reason != GOES_ON:
            return reason, np.int64(frame + 1)
    return np.int64(GOES_ON), np.int64(presses.shape[0])


@parallel_kernel
def try_all(rows, words, tracks, fixed, rules, presses, star, ends, spare, spare_words):  # type: ignore[no-untyped-def]
    """Each candidate on its own row; afterwards one copy of it runs on for a while, to see whether it lives."""
    for n in prange(rows.shape[0]):
        lasting = presses.shape[1] - SURVIVE_FRAMES
        reason, frames = try_presses(rows[n], words[n], tracks[n], fixed, rules, presses[n, :lasting], star)
        ends[n, 0], ends[n, 1] = reason, frames
        ends[n, 2] = tracks[n, ROOMS] * 100000 + tracks[n, MAX_X]
        if reason == GOES_ON:
            copy_row(rows[n], spare[n])
            track = tracks[n].copy()
            ends[n, 3], _ = try_presses(spare[n], spare_words[n], track, fixed, rules, presses[n, lasting:], star)


class Search:
    """One search under way: a stack of consoles that got further and further."""

    def __init__(self, world: Mario, stage: int, seed: int, star: bool) -> None:
        self.world, self.stage, self.star = world, stage, star
        self.random = np.random.Generator(np.random.Philox(key=[seed, stage]))
        place = world.stages.index(stage)
        row = world.fixed.starts[place].copy()
        track, paid = np.zeros(TRACK_COLUMNS, np.int64), np.zeros(ACCOUNTS)
        open_accounts(row, track, paid)
        track[STAGE_NUMBER] = stage
        self.trail: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = [(row, track, np.zeros(0, np.uint8))]

    def round(self) -> Found | None:
        """Extend the trail by the best candidate, or take some of it back."""
        row, track, _ = self.trail[-1]
        choices = self.random.integers(
            0, len(self.world.buttons), (CANDIDATES, PRESSES + SURVIVE_FRAMES // PRESS_FRAMES)
        )
        presses = np.repeat(self.world.fixed.buttons[choices], PRESS_FRAMES, axis=1)
        rows, tracks = np.repeat(row[None], CANDIDATES, 0), np.repeat(track[None], CANDIDATES, 0)
        ends, spare = np.zeros((CANDIDATES, 4), np.int64), np.empty_like(rows)
        use_threads(self.world.threads)
        world = self.world
        words = rows.view(np.int64), spare.view(np.int64)
        try_all(rows, words[0], tracks, world.fixed, world.rules, presses, self.star, ends, spare, words[1])
        won = np.flatnonzero((ends[:, 0] == FLAG) | (ends[:, 0] == CASTLE))
        if len(won):
            best = won[np.argmin(ends[won, 1])]
            last = presses[best, : ends[best, 1]]
            x = int(facts.x(rows[best]))
            return Found(
                self.stage, np.concatenate([*(part for _, _, part in self.trail), last]), int(ends[best, 0]), x
            )
        alive = np.flatnonzero((ends[:, 0] == GOES_ON) & (ends[:, 3] == GOES_ON))
        if not len(alive) or ends[alive, 2].max() <= track[ROOMS] * 100000 + track[MAX_X] - 64:
            del self.trail[max(1, len(self.trail) - BACK_UP) :]
            return None
        best = alive[np.argmax(ends[alive, 2])]
        self.trail.append((rows[best], tracks[best], presses[best, : PRESSES * PRESS_FRAMES]))
        return None


def find_clear(world: Mario, stage: int, seed: int = 1, star: bool = False, rounds: int = MOST_ROUNDS) -> Found | None:
    """Presses that clear a stage of this world, or None when the rounds are over."""
    search = Search(world, stage, seed, star)
    for _ in range(rounds):
        found = search.round()
        if found is not None:
            return found
    return None


def replay(world: Mario, found: Found, star: bool = False) -> tuple[int, int]:
    """The reason and x with which a press list ends when it is played again from the stage's start."""
    row = world.fixed.starts[world.stages.index(found.stage)].copy()
    track, paid = np.zeros(TRACK_COLUMNS, np.int64), np.zeros(ACCOUNTS)
    open_accounts(row, track, paid)
    track[STAGE_NUMBER] = found.stage
    reason, _ = try_presses(row, row.view(np.int64), track, world.fixed, world.rules, found.presses, star)
    return int(reason), int(facts.x(row))
