"""Videos of episodes: pictures stream into an .mp4 that browsers play, or a .gif, without a window or a display.

A video is written aside and renamed, so a half-written one never has the final name.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

import numpy as np

from holdfast.kit.errors import ConfigError, DiskFull, RunFolderError, WorldError
from holdfast.worlds.api import Act, World

ENDINGS = (".mp4", ".gif")
FPS = 20
HELD = FPS  # pictures the last one is shown for: about a second
SHORTEST_GIF_MS = 20  # browsers slow anything shorter down to 100 ms


def episode_frames(world: World, act: Act, key: int, stride: int = 1, most: int | None = None) -> Iterator[np.ndarray]:
    """Pictures of the episode with this key as lane 0 plays it, every `stride` steps, at most `most` of them."""
    limits = {"stride": stride, "most": 1 if most is None else most}
    problems = [f"{name} = {value}: must be at least 1" for name, value in limits.items() if value < 1]
    if problems:
        raise ConfigError(problems)
    return islice(_episode(world, act, key, stride), most)


def _episode(world: World, act: Act, key: int, stride: int) -> Iterator[np.ndarray]:
    world.reset(keys=np.full(world.lanes, key, np.uint64))
    picture, step = world.draw(0), 0
    yield picture
    while True:
        world.step(act(world))
        step += 1
        if world.terminated[0] or world.truncated[0]:
            break  # the lane already shows its next episode
        if step % stride == 0:
            picture = world.draw(0)
            yield picture
    for _ in range(HELD):
        yield picture


def write_video(path: Path, frames: Iterable[np.ndarray], fps: int = FPS) -> Path:
    """Write pictures, each [height, width, 3] uint8 and all of one size, to a .mp4 or .gif file."""
    _check_options(path, fps)
    aside = path.with_name(f".{os.getpid()}-{path.name}")
    with _telling(path):  # before the first picture is drawn
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.touch()
    try:
        write = _write_mp4 if path.suffix.lower() == ".mp4" else _write_gif
        write(aside, _checked(frames), fps, path)
        with _telling(path):
            os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    return path


def _check_options(path: Path, fps: int) -> None:
    problems = []
    if path.suffix.lower() not in ENDINGS:
        problems.append(f"{path}: videos end in {' or '.join(ENDINGS)}, not {path.suffix or 'nothing'!r}")
    if fps < 1:
        problems.append(f"fps = {fps}: must be at least 1")
    if problems:
        raise ConfigError(problems)


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """What the disk refuses, told by the video's name; what a world or policy raises is left as it is."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"the disk is full: {path} could not be written") from error
        reason = os.strerror(error.errno) if error.errno else str(error).strip()
        raise RunFolderError(f"cannot write {path}: {reason}") from error


def _checked(frames: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """The pictures as they come, refusing any that is no picture or has another size than the first."""
    size: tuple[int, ...] | None = None
    for number, frame in enumerate(frames):
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or 0 in frame.shape:
            raise WorldError(f"picture {number} is {frame.dtype}{list(frame.shape)}, not uint8[height, width, 3]")
        if size is not None and frame.shape != size:
            raise WorldError(f"picture {number} is {list(frame.shape)}, the first was {list(size)}")
        size = frame.shape
        yield frame
    if size is None:
        raise ValueError("a video needs at least one picture")


def even_sized(frame: np.ndarray) -> np.ndarray:
    """The picture with its last row and column repeated where their number is odd: yuv420p halves both."""
    height, width, _ = frame.shape
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def _write_mp4(aside: Path, frames: Iterator[np.ndarray], fps: int, path: Path) -> None:
    first = even_sized(next(frames))
    writer = _ffmpeg(aside, first, fps)
    count = 0
    try:
        for frame in chain([first], map(even_sized, frames)):
            with _telling(path):
                writer.send(np.ascontiguousarray(frame))
            count += 1
    finally:
        writer.close()
    with _telling(path):
        _check_count(aside, count)


def _ffmpeg(aside: Path, first: np.ndarray, fps: int) -> Generator[None, np.ndarray | None, None]:
    from imageio_ffmpeg import write_frames

    height, width, _ = first.shape
    writer: Generator[None, np.ndarray | None, None] = write_frames(
        str(aside),
        (width, height),
        fps=fps,
        codec="libx264",
        quality=7,
        macro_block_size=2,
        ffmpeg_log_level="error",
        output_params=["-movflags", "+faststart"],  # plays before it is loaded whole
    )
    writer.send(None)
    return writer


def _check_count(aside: Path, count: int) -> None:
    """imageio-ffmpeg does not look at ffmpeg's exit status, so a disk that filled up shows only here."""
    from imageio_ffmpeg import count_frames_and_secs

    try:
        written, _ = count_frames_and_secs(str(aside))
    except RuntimeError:
        written = 0
    if written != count:
        raise OSError(f"ffmpeg wrote {written} of {count} pictures; is the disk full?")


def _write_gif(aside: Path, frames: Iterator[np.ndarray], fps: int, path: Path) -> None:
    from PIL import Image

    images = [Image.fromarray(frame).quantize() for frame in frames]  # the format keeps 256 colours per picture
    shown_ms = max(SHORTEST_GIF_MS, round(1000 / fps))
    with _telling(path):
        images[0].save(aside, format="GIF", save_all=True, append_images=images[1:], duration=shown_ms, loop=0)
