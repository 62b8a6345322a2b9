"""The ROM is found in a fixed order, refused when it is something else, and tells its family by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.games.mario.world import rom as roms
from holdfast.games.mario.world.errors import RomNotFound, WrongRom
from holdfast.games.mario.world.own_cartridge import own_cartridge
from holdfast.games.mario.world.rom import VARIABLE, find_rom, open_rom
from holdfast.nes.errors import RomError, UnsupportedMapper


@pytest.fixture
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without ROMs on a machine without the wheel."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(roms, "WHEEL", "no_such_package")
    return tmp_path


def write(path: Path, data: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def test_without_a_rom_the_error_lists_the_four_places(empty_place: Path) -> None:
    with pytest.raises(RomNotFound) as raised:
        find_rom()
    for place in ("world.rom", VARIABLE, "gym-super-mario-bros", "./roms/"):
        assert place in str(raised.value)


def test_places_are_searched_in_order(empty_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = write(empty_place / "roms" / "smb.nes", own_cartridge())
    assert find_rom() == str(Path("roms/smb.nes"))
    package = empty_place / "fake_wheel"
    write(package / "__init__.py", b"raise ImportError('must not be imported')")
    wheel = write(package / "_roms" / "super-mario-bros.nes", own_cartridge())
    monkeypatch.setattr(roms, "WHEEL", "fake_wheel")
    monkeypatch.syspath_prepend(str(empty_place))
    assert find_rom() == wheel
    named = write(empty_place / "named.nes", own_cartridge())
    monkeypatch.setenv(VARIABLE, named)
    assert find_rom() == named
    assert find_rom(local) == local


@pytest.mark.parametrize("by_option", [True, False])
def test_a_named_file_that_is_missing_is_an_error(
    empty_place: Path, monkeypatch: pytest.MonkeyPatch, by_option: bool
) -> None:
    write(empty_place / "roms" / "smb.nes", own_cartridge())
    if not by_option:
        monkeypatch.setenv(VARIABLE, "missing.nes")
    with pytest.raises(RomNotFound, match=r"missing\.nes"):
        find_rom("missing.nes" if by_option else "")


@pytest.mark.parametrize(("clock_frames", "family"), [(20, "A"), (24, "B")])
def test_family_is_read_from_the_program(tmp_path: Path, clock_frames: int, family: str) -> None:
    found = open_rom(write(tmp_path / "game.nes", own_cartridge(clock_frames)))
    assert (found.family, found.clock_frames) == (family, clock_frames)
    assert found.name == "unknown"


def test_other_files_are_refused_by_name(tmp_path: Path) -> None:
    good = own_cartridge()
    with pytest.raises(RomError, match="truncated"):
        open_rom(write(tmp_path / "short.nes", good[:-100]))
    with pytest.raises(UnsupportedMapper, match="mapper 4"):
        open_rom(write(tmp_path / "mapper.nes", good[:6] + b"\x40" + good[7:]))
    with pytest.raises(WrongRom, match="appears 0 times"):
        open_rom(write(tmp_path / "other.nes", good[:16] + bytes(32768) + good[16 + 32768 :]))
    with pytest.raises(WrongRom, match="30 frames"):
        open_rom(write(tmp_path / "slow.nes", own_cartridge(30)))
    with pytest.raises(WrongRom, match="32 KiB"):
        open_rom(write(tmp_path / "small.nes", good[:4] + b"\x01" + good[5 : 16 + 16384] + good[16 + 32768 :]))


def test_the_installed_game_is_known(real_rom: str) -> None:
    found = open_rom(real_rom)
    assert (found.sha1, found.family) == ("0c4992fc08d2278697339d3b48066e7b5f943598", "A")
