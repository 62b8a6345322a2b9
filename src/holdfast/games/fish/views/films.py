"""Films of a school: its worst episodes, from the tracks its evaluations left, and how survival grew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from holdfast.games.fish.school_records import HISTORY
from holdfast.games.fish.school_replay import MEDIA, Replay, read_replays
from holdfast.games.fish.views.plots import moment, read_recorded
from holdfast.games.fish.world.draw import picture
from holdfast.games.fish.world.school import TIME_STEP, make_school
from holdfast.views.video import write_video

FPS = 20
CURVE, CURVE_FPS = "training_curve.gif", 2
NEWEST = 2  # evaluations whose films are made without being asked


def frames(replay: Replay, stride: int = 1) -> Iterator[np.ndarray]:
    """The recorded episode, drawn from above; dead fish are marked where they died."""
    steps, fish = replay.fish.shape[:2]
    school = make_school(1, fish)
    school.n_fish[0] = fish
    alive = np.zeros((1, fish), np.bool_)
    positions, predator = replay.fish.astype(np.float32), replay.predator.astype(np.float32)
    for t in range(0, steps, stride):
        after = min(t + 1, steps - 1)
        school.fish_pos[0] = positions[t]
        school.fish_vel[0] = (positions[after] - positions[t]) / TIME_STEP
        school.pred_pos[0] = predator[t]
        school.pred_vel[0] = (predator[after] - predator[t]) / TIME_STEP
        alive[0] = (replay.death_step < 0) | (replay.death_step > t)
        yield picture(school, alive, replay.pool, t, 0)


def training_curve(folder: Path) -> list[Path]:
    """How survival grew, evaluation by evaluation, as a small moving picture; none for a run of another world."""
    if not (folder / HISTORY).is_file():
        return []
    recorded = read_recorded(folder)
    if len(recorded.history) < 2:
        return []
    shown = (moment(recorded, count) for count in range(1, len(recorded.history) + 1))
    return [write_video(folder / MEDIA / CURVE, shown, fps=CURVE_FPS)]


def film_worst(folder: Path, all_of_them: bool = False) -> list[Path]:
    """MP4 files of the worst episodes: of the newest evaluations, or of all; those already there are left alone."""
    made = []
    files = sorted((folder / MEDIA).glob("worst_iter*.npz"))
    for path in files if all_of_them else files[-NEWEST:]:
        for rank, replay in enumerate(read_replays(path), start=1):
            film = path.with_name(f"{path.stem}_{rank}.mp4")
            if not film.exists():
                write_video(film, frames(replay, stride=2), fps=FPS)
            made.append(film)
    return made
