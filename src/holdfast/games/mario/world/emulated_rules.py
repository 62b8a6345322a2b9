"""The kernels of `rules.py` for a game that runs elsewhere: frames come as RAM, everything else is the same code."""

from __future__ import annotations

import numpy as np

from holdfast.games.mario.world import facts
from holdfast.games.mario.world.frames import MENU, copy_row, watch
from holdfast.games.mario.world.play import GOES_ON, WORKER
from holdfast.games.mario.world.rules import choose_noops, choose_place, open_episode, press, see, settle
from holdfast.kit.compiled import kernel
from holdfast.worlds.lanes import next_episode


@kernel
def draw_starts(clock, cumulated, lanes, places, noops):  # type: ignore[no-untyped-def]
    """Set the clocks of these lanes to their next episode, and draw how it begins."""
    for n in lanes:
        next_episode(clock, n)
        places[n] = choose_place(clock.episode_key[n], clock.level[n], cumulated)
        noops[n] = choose_noops(clock.episode_key[n], clock.level[n])


@kernel
def open_lanes(play, fixed, rules, player, lanes, places):  # type: ignore[no-untyped-def]
    """Begin the accounts of lanes whose first frame is in their rows."""
    for n in lanes:
        row = play.console[n]
        open_episode(row, play.track[n], play.paid[n], play.lane[n], fixed, rules, places[n])
        player.alive[n, 0] = True
        see(row, rules, player.obs[n, 0])


@kernel
def press_lanes(clock, play, fixed, rules, player, actions, pressed):  # type: ignore[no-untyped-def]
    for n in range(pressed.shape[0]):
        pressed[n] = press(clock, play, fixed, rules, player, actions, n) & ~MENU


@kernel
def watch_frames(play, rules, seen, frames, going, reason, base, distance):  # type: ignore[no-untyped-def]
    """Take frames of the lanes that go on into their accounts, each lane up to the end of its episode."""
    for n in range(going.shape[0]):
        frame = 0
        while going[n] and frame < frames:
            copy_row(seen[n, frame], play.console[n])
            reason[n], points, pixels = watch(play.console[n], play.track[n], rules)
            base[n] += points
            distance[n] += pixels
            going[n] = reason[n] == GOES_ON
            frame += 1


@kernel
def shorten_waits(play, going, busy):  # type: ignore[no-untyped-def]
    """Which of the lanes show something nobody can influence; what can be cut of it is cut in their rows."""
    for n in range(going.shape[0]):
        busy[n] = going[n] and facts.busy(play.console[n])
        if busy[n]:
            facts.shorten_waits(play.console[n])


@kernel
def settle_lanes(clock, play, rules, player, reason, base, distance):  # type: ignore[no-untyped-def]
    """End a step in all lanes. Where the worker was lost, the last sight is the one before the step."""
    for n in range(reason.shape[0]):
        settle(clock, play, rules, player, reason[n], base[n], distance[n], n)
        if reason[n] == WORKER:
            player.reward[n, 0] = np.float32(0.0)
        else:
            see(play.console[n], rules, player.obs[n, 0])
        if clock.terminated[n] or clock.truncated[n]:
            player.final_obs[n, 0] = player.obs[n, 0]
            player.final_alive[n, 0] = True
