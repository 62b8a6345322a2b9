"""Videos: decodable, of the right length and size, and either whole or not there."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest

from holdfast.kit.errors import ConfigError, RunFolderError, WorldError
from holdfast.views import video
from holdfast.views.video import HELD, episode_frames, write_video
from holdfast.worlds.template.world import Template, TrackSettings


def colours(count: int, height: int, width: int) -> Iterator[np.ndarray]:
    """Pictures of one grey each, every one lighter than the one before."""
    for number in range(count):
        yield np.full((height, width, 3), 20 + 10 * number, np.uint8)


def read(path: Path) -> np.ndarray:
    return np.asarray(imageio.imread(path, plugin="FFMPEG" if path.suffix == ".mp4" else "pillow", index=...))


@pytest.mark.parametrize("ending", ["mp4", "gif"])
def test_pictures_come_back(tmp_path: Path, ending: str) -> None:
    path = write_video(tmp_path / "new" / f"film.{ending}", colours(12, 40, 64))
    found = read(path)[..., :3]
    assert found.shape == (12, 40, 64, 3)
    assert np.abs(found.mean((1, 2, 3)) - (20 + 10 * np.arange(12))).max() < 4
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_mp4_is_what_browsers_play(tmp_path: Path) -> None:
    path = write_video(tmp_path / "film.mp4", colours(10, 40, 64), fps=5)
    facts = imageio.immeta(path, plugin="FFMPEG")
    assert facts["codec"] == "h264"
    assert facts["pix_fmt"].startswith("yuv420p")
    assert (facts["fps"], facts["duration"]) == (5, 2)
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")  # the index comes first: it plays while it loads


def test_gif_keeps_its_pace_and_loops(tmp_path: Path) -> None:
    facts = imageio.immeta(write_video(tmp_path / "film.gif", colours(3, 8, 8), fps=10), plugin="pillow")
    assert (facts["duration"], facts["loop"]) == (100, 0)


def test_odd_sizes_are_padded_not_scaled(tmp_path: Path) -> None:
    picture = np.zeros((33, 51, 3), np.uint8)
    picture[:, 25:] = 255
    found = read(write_video(tmp_path / "odd.mp4", [picture] * 3))
    assert found.shape == (3, 34, 52, 3)
    assert found[1, :33, :24].max() < 40
    assert found[1, :, 27:].min() > 215  # the edge is repeated into the new row and column


def test_mp4_takes_pictures_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    real = video._ffmpeg

    def watched(*arguments: object) -> object:
        writer = real(*arguments)  # type: ignore[arg-type]

        class Writer:
            def send(self, frame: np.ndarray) -> None:
                order.append("written")
                writer.send(frame)

            def close(self) -> None:
                writer.close()

        return Writer()

    def drawn() -> Iterator[np.ndarray]:
        for frame in colours(3, 16, 16):
            order.append("drawn")
            yield frame

    monkeypatch.setattr(video, "_ffmpeg", watched)
    write_video(tmp_path / "film.mp4", drawn())
    assert order == ["drawn", "written"] * 3


@pytest.mark.parametrize("ending", ["mp4", "gif"])
def test_failure_midway_keeps_the_earlier_video_and_nothing_else(tmp_path: Path, ending: str) -> None:
    path = write_video(tmp_path / f"film.{ending}", colours(3, 16, 16))
    before = path.read_bytes()

    def breaks() -> Iterator[np.ndarray]:
        yield from colours(2, 16, 16)
        raise FileNotFoundError("a texture of the world")

    with pytest.raises(FileNotFoundError, match="a texture"):  # the world's error, not told as one of writing
        write_video(path, breaks())
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before


def test_video_cut_short_by_ffmpeg_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = video._ffmpeg

    def stops_after_one(aside: Path, first: np.ndarray, fps: int) -> Generator[None, np.ndarray | None, None]:
        writer = real(aside, first, fps)
        writer.send(first)
        writer.close()
        while True:
            yield

    def started(aside: Path, first: np.ndarray, fps: int) -> Generator[None, np.ndarray | None, None]:
        writer = stops_after_one(aside, first, fps)
        next(writer)
        return writer

    monkeypatch.setattr(video, "_ffmpeg", started)
    with pytest.raises(RunFolderError, match="wrote 1 of 3 pictures"):
        write_video(tmp_path / "film.mp4", colours(3, 16, 16))
    assert list(tmp_path.iterdir()) == []


def test_unknown_ending_and_pace_are_told_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.mp4 or \.gif") as error:
        write_video(tmp_path / "film.avi", colours(1, 8, 8), fps=0)
    assert len(error.value.problems) == 2


def test_folder_that_cannot_be_written_is_told_before_drawing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    def never() -> Iterator[np.ndarray]:
        pytest.fail("a picture was drawn")
        yield

    with pytest.raises(RunFolderError, match="cannot write"):
        write_video(tmp_path / "file" / "film.mp4", never())


@pytest.mark.parametrize("ending", ["mp4", "gif"])
def test_pictures_of_another_kind_are_refused_by_number(tmp_path: Path, ending: str) -> None:
    grown = [np.zeros((8, 8, 3), np.uint8), np.zeros((8, 10, 3), np.uint8)]
    with pytest.raises(WorldError, match=r"picture 1 is \[8, 10, 3\], the first was \[8, 8, 3\]"):
        write_video(tmp_path / f"film.{ending}", grown)
    with pytest.raises(WorldError, match=r"picture 0 is float64\[8, 8\]"):
        write_video(tmp_path / f"film.{ending}", [np.zeros((8, 8))])
    with pytest.raises(ValueError, match="at least one picture"):
        write_video(tmp_path / f"film.{ending}", [])
    assert list(tmp_path.iterdir()) == []


# --- episodes --------------------------------------------------------------------------------------------------------


def track(lanes: int = 1) -> Template:
    return Template(TrackSettings(), lanes, seed=3)


def test_episode_is_shown_from_its_first_state_to_its_last_and_held() -> None:
    world, twin = track(), track()
    frames = list(episode_frames(world, world.yardsticks()["optimal"], key=8))
    twin.reset(keys=np.array([8], np.uint64))
    expected = [twin.draw(0)]
    while True:
        twin.step(twin.yardsticks()["optimal"](twin))
        if twin.terminated[0]:
            break
        expected.append(twin.draw(0))
    np.testing.assert_array_equal(frames, expected + [expected[-1]] * HELD)


def test_same_key_shows_the_same_episode_in_any_world() -> None:
    one, many = track(1), track(4)
    many.reset()
    frames = [np.array(list(episode_frames(world, world.yardsticks()["random"], key=5))) for world in (one, many)]
    np.testing.assert_array_equal(*frames)


def test_stride_leaves_out_steps_and_most_cuts() -> None:
    world = track()
    act = world.yardsticks()["random"]
    whole = list(episode_frames(world, act, key=5))
    shown = len(whole) - HELD
    strided = list(episode_frames(world, act, key=5, stride=3))
    np.testing.assert_array_equal(strided[:-HELD], whole[:shown:3])
    np.testing.assert_array_equal(list(episode_frames(world, act, key=5, most=4)), whole[:4])


def test_senseless_limits_are_refused() -> None:
    world = track()
    with pytest.raises(ConfigError, match="most = 0") as error:
        episode_frames(world, world.yardsticks()["random"], key=5, stride=0, most=0)
    assert len(error.value.problems) == 2
