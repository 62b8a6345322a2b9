"""Shared by the game's tests: worlds on the project's own cartridge, a bot that runs through it, and the real ROM."""

from __future__ import annotations

import pytest

from holdfast.games.mario.world.errors import RomNotFound
from holdfast.games.mario.world.rom import find_rom


@pytest.fixture(scope="session")
def real_rom() -> str:
    try:
        return find_rom()
    except RomNotFound:
        pytest.skip("gym-super-mario-bros is not installed, so there is no real ROM")
