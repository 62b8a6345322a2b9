"""The ROM reader gives a cartridge or a named error, whatever the bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.kit.errors import HoldfastError
from holdfast.nes.assembler import ines_file
from holdfast.nes.cartridge import load_rom
from holdfast.nes.errors import RomError, UnsupportedFeature, UnsupportedMapper

GOOD = ines_file(bytes(32768), bytes(8192))


def changed(index: int, value: int) -> bytes:
    return GOOD[:index] + bytes([value]) + GOOD[index + 1 :]


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (b"", RomError, "0 bytes"),
        (b"NES", RomError, "3 bytes"),
        (b"ZES\x1a" + GOOD[4:], RomError, "not an iNES"),
        (GOOD[:-1], RomError, "truncated"),
        (GOOD + bytes(5000), RomError, "oversized"),
        (changed(4, 0), RomError, "0 program banks"),
        (changed(4, 255), RomError, "255 program banks"),
        (changed(5, 2), RomError, "2 tile banks"),
        (changed(6, 0x10), UnsupportedMapper, "mapper 1"),
        (changed(7, 0x40), UnsupportedMapper, "mapper 64"),
        (changed(6, 0x04), UnsupportedFeature, "trainer"),
        (changed(6, 0x08), UnsupportedFeature, "four-screen"),
        (changed(7, 0x01), UnsupportedFeature, "Vs. System"),
        (changed(7, 0x02), UnsupportedFeature, "PlayChoice"),
        (changed(9, 0x01), UnsupportedFeature, "PAL.*byte 9"),
    ],
)
def test_wrong_files_are_refused_by_name(data: bytes, error: type[HoldfastError], says: str) -> None:
    with pytest.raises(error, match=says):
        load_rom(data)


def test_nes20_headers_are_recognised() -> None:
    nes20 = bytearray(GOOD)
    nes20[7] = 0x08
    assert load_rom(bytes(nes20)).has_prg_ram is False
    nes20[10] = 0x07
    assert load_rom(bytes(nes20)).has_prg_ram is True
    nes20[8] = 0x01
    with pytest.raises(UnsupportedMapper, match="mapper 256"):
        load_rom(bytes(nes20))
    nes20[8], nes20[12] = 0, 1
    with pytest.raises(UnsupportedFeature, match="PAL"):
        load_rom(bytes(nes20))


def test_a_16_kb_program_appears_twice() -> None:
    cartridge = load_rom(ines_file(bytes([1]) + bytes(16383)))
    assert cartridge.program[0] == cartridge.program[16384] == 1
    assert cartridge.has_chr_ram and not cartridge.tiles.any()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RomError, match=r"nothing\.nes"):
        load_rom(tmp_path / "nothing.nes")


def test_text_over_the_unused_header_bytes_does_not_change_the_mapper() -> None:
    assert load_rom(GOOD[:7] + b"DiskDude!" + GOOD[16:]).tiles.size == 8192


@settings(max_examples=1500, deadline=None)
@given(header=st.binary(min_size=0, max_size=20), size=st.sampled_from([0, 16384, 24576, 32768, 40960]))
def test_any_header_gives_a_cartridge_or_a_named_error(header: bytes, size: int) -> None:
    for data in (header, b"NES\x1a" + header + bytes(size)):
        try:
            cartridge = load_rom(data)
        except HoldfastError as error:
            assert str(error)
        else:
            assert cartridge.program.size == 32768 and cartridge.tiles.size == 8192
