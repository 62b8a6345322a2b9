"""What the player sees as pictures: gray, 84 x 84, of the last few steps; painted only here, when they are read."""

from __future__ import annotations

import numpy as np

from holdfast.games.mario.world.rules import begin_episode, play_lane
from holdfast.kit.compiled import inlined, kernel, parallel_kernel, prange
from holdfast.nes.draw import paint
from holdfast.nes.view import PICTURE_WORDS, shrink, view_picture

SIZE = 84


@inlined
def push(stack, picture, out):  # type: ignore[no-untyped-def]
    """The pictures of `stack` [84, 84, K] but the oldest, then the new one, into `out`, which may be the same array."""
    newest = out.shape[2] - 1
    for y in range(SIZE):
        for x in range(SIZE):
            for k in range(newest):
                out[y, x, k] = stack[y, x, k + 1]
            out[y, x, newest] = picture[y, x]


@inlined
def fill(picture, out):  # type: ignore[no-untyped-def]
    """An episode's first sight: the same picture for every place in the stack."""
    for y in range(SIZE):
        for x in range(SIZE):
            for k in range(out.shape[2]):
                out[y, x, k] = picture[y, x]


@kernel
def look(row, words, before, before_words, rom, view, pooled, picture):  # type: ignore[no-untyped-def]
    """The console's picture; pooled: the brighter of it and the one before."""
    if not pooled:
        view_picture(row, words, rom, view, picture)
        return
    earlier, last = np.empty(PICTURE_WORDS, np.uint64), np.empty(PICTURE_WORDS, np.uint64)
    paint(before, before_words, rom, earlier)
    paint(row, words, rom, last)
    shrink(view, earlier, last, picture)


@kernel
def begin_pixels(clock, play, words, fixed, rules, player, lanes, view):  # type: ignore[no-untyped-def]
    picture = np.empty((SIZE, SIZE), np.uint8)
    for n in lanes:
        begin_episode(clock, play, words, fixed, rules, n)
        player.alive[n, 0] = True
        view_picture(play.console[n], words[n], fixed.rom, view, picture)
        fill(picture, player.obs[n, 0])


@kernel
def play_and_look(clock, play, words, fixed, rules, player, actions, before, before_words, view, pooled, n):  # type: ignore[no-untyped-def]
    play_lane(clock, play, words, fixed, rules, player, actions, before, n)
    picture = np.empty((SIZE, SIZE), np.uint8)
    look(play.console[n], words[n], before[n], before_words[n], fixed.rom, view, pooled, picture)
    if clock.terminated[n] or clock.truncated[n]:
        push(player.obs[n, 0], picture, player.final_obs[n, 0])
        player.final_alive[n, 0] = True
        begin_episode(clock, play, words, fixed, rules, n)
        view_picture(play.console[n], words[n], fixed.rom, view, picture)
        fill(picture, player.obs[n, 0])
    else:
        push(player.obs[n, 0], picture, player.obs[n, 0])


@parallel_kernel
def step_pixels(clock, play, words, fixed, rules, player, actions, before, before_words, view, pooled):  # type: ignore[no-untyped-def]
    for n in prange(actions.shape[0]):
        play_and_look(
            clock, play, words, fixed, rules, player, actions, before, before_words, view, pooled, np.int64(n)
        )
