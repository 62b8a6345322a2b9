"""Shared by the console's tests: a random cartridge, small programs, and the real ROM where it is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from holdfast.nes import Cartridge, load_rom
from holdfast.nes.rivals import mario_rom

sys.path.insert(0, str(Path(__file__).parent))  # cartridges.py, next to the tests


@pytest.fixture(scope="session")
def mario() -> Cartridge:
    path = mario_rom()
    if path is None:
        pytest.skip("gym-super-mario-bros is not installed, so there is no real ROM")
    return load_rom(path)


@pytest.fixture(scope="session")
def mario_path() -> Path:
    path = mario_rom()
    if path is None:
        pytest.skip("gym-super-mario-bros is not installed, so there is no real ROM")
    return path


def log_of(ram: np.ndarray) -> list[int]:
    """The entries that a test cartridge has recorded so far."""
    end = int(ram[0xFE]) | int(ram[0xFF]) << 8
    return ram[0x300:end].copy().view(np.uint16).tolist() if 0x300 <= end <= 0x700 else []
