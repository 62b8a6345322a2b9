"""Reads iNES files into NROM cartridges, and refuses everything else by name.

The header's fields are Python ints on purpose: as NumPy bytes, `16 * header[4] * 1024` overflows.
Source for the layout: NESdev wiki, "INES" and "NES 2.0".
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.nes.errors import RomError, UnsupportedFeature, UnsupportedMapper

MAGIC = b"NES\x1a"
HEADER_BYTES = 16
PRG_BANK_BYTES = 16 * 1024
CHR_BANK_BYTES = 8 * 1024
PRG_RAM_BYTES = 8 * 1024
CHR_RAM_BYTES = 8 * 1024
LARGEST_TAIL_BYTES = 1024  # some dumps carry a title after the banks; more than this is another file


@dataclass(frozen=True)
class Cartridge:
    """An NROM board: up to 32 KB of program, 8 KB of tiles in ROM or RAM, one of two mirrorings."""

    program: NDArray[np.uint8] = field(repr=False)  # [32768], 16 KB images appear twice
    tiles: NDArray[np.uint8] = field(repr=False)  # [8192], zeros when the board has CHR-RAM
    vertical_mirroring: bool  # True: the two screens lie side by side
    has_chr_ram: bool
    has_prg_ram: bool
    digest: str  # sha256 of program, tiles and wiring: the key of ROM-specific code

    @property
    def reset_vector(self) -> int:
        return int(self.program[0x7FFC]) | int(self.program[0x7FFD]) << 8


def load_rom(source: str | Path | bytes | bytearray | memoryview) -> Cartridge:
    """Read a cartridge from a path or from the bytes of an iNES file."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return parse_rom(bytes(source), "the ROM")
    path = Path(source)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RomError(f"cannot read the ROM {path}: {error.strerror or error}") from error
    return parse_rom(data, str(path))


def parse_rom(data: bytes, name: str) -> Cartridge:
    """The cartridge in the bytes of an iNES file; `name` is how errors call it."""
    if len(data) < HEADER_BYTES:
        raise RomError(f"{name} has {len(data)} bytes, an iNES header alone has {HEADER_BYTES}")
    if data[:4] != MAGIC:
        raise RomError(f"{name} does not begin with 'NES' and 1A hex, so it is not an iNES file")
    header = _read_header(data, name)
    expected = HEADER_BYTES + header.program_bytes + header.tile_bytes
    if len(data) < expected:
        raise RomError(f"{name} is truncated: its header promises {expected} bytes, the file has {len(data)}")
    if len(data) > expected + LARGEST_TAIL_BYTES:
        raise RomError(f"{name} is oversized: its header promises {expected} bytes, the file has {len(data)}")
    image = np.frombuffer(data, np.uint8)
    program = image[HEADER_BYTES : HEADER_BYTES + header.program_bytes]
    tiles = image[HEADER_BYTES + header.program_bytes : expected]
    return make_cartridge(program, tiles, header.vertical_mirroring, header.has_prg_ram)


def make_cartridge(
    program: NDArray[np.uint8], tiles: NDArray[np.uint8], vertical_mirroring: bool, has_prg_ram: bool
) -> Cartridge:
    """Wire banks to a board: one 16 KB bank appears twice, no tiles means CHR-RAM."""
    whole = np.tile(program, 2 * PRG_BANK_BYTES // program.size).astype(np.uint8)
    has_chr_ram = tiles.size == 0
    pattern = np.zeros(CHR_BANK_BYTES, np.uint8) if has_chr_ram else tiles.astype(np.uint8)
    wiring = bytes([vertical_mirroring, has_chr_ram, has_prg_ram])
    digest = hashlib.sha256(whole.tobytes() + pattern.tobytes() + wiring).hexdigest()
    return Cartridge(whole, pattern, vertical_mirroring, has_chr_ram, has_prg_ram, digest)


@dataclass(frozen=True)
class _Header:
    program_bytes: int
    tile_bytes: int
    vertical_mirroring: bool
    has_prg_ram: bool


def _read_header(data: bytes, name: str) -> _Header:
    program_banks, tile_banks, flags6, flags7 = data[4], data[5], data[6], data[7]
    nes20 = flags7 & 0x0C == 0x08
    mapper = flags6 >> 4
    whole = nes20 or not any(data[12:16])  # old tools wrote text over bytes 7-15; NESdev: then trust only byte 6
    if whole:
        mapper |= flags7 & 0xF0
    if nes20:
        mapper |= (data[8] & 0x0F) << 8
        program_banks |= (data[9] & 0x0F) << 8
        tile_banks |= (data[9] & 0xF0) << 4
    if mapper != 0:
        raise UnsupportedMapper(
            f"{name} needs mapper {mapper} (header bytes 6 and 7); this console has NROM (mapper 0) only"
        )
    if flags6 & 0x04:
        raise UnsupportedFeature(f"{name} has a trainer (512 bytes at $7000), which NROM boards do not have")
    if flags6 & 0x08:
        raise UnsupportedFeature(f"{name} asks for four-screen memory, which NROM boards do not have")
    if whole and flags7 & 0x03:
        kind = ("", "a Vs. System", "a PlayChoice-10", "another console")[flags7 & 0x03]
        raise UnsupportedFeature(f"{name} is made for {kind} (header byte 7); this console is a NES")
    if data[12] & 0x03 in (1, 3) if nes20 else whole and data[9] & 0x01:
        raise UnsupportedFeature(
            f"{name} is timed for PAL or Dendy consoles (header byte {12 if nes20 else 9}); this one runs NTSC"
        )
    if program_banks not in (1, 2):
        raise RomError(f"{name} has {program_banks} program banks of 16 KB; NROM has 1 or 2")
    if tile_banks not in (0, 1):
        raise RomError(f"{name} has {tile_banks} tile banks of 8 KB; NROM has 1, or 0 for CHR-RAM")
    return _Header(
        program_bytes=program_banks * PRG_BANK_BYTES,
        tile_bytes=tile_banks * CHR_BANK_BYTES,
        vertical_mirroring=bool(flags6 & 0x01),
        has_prg_ram=bool(flags6 & 0x02) or (nes20 and data[10] != 0),
    )
