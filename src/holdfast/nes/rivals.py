"""Other NES emulators from PyPI behind one small interface, for lockstep proofs and benchmarks where installed."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import tempfile
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.kit.errors import MissingPackage


class Rival(Protocol):
    """Another emulator with one ROM, at power-on."""

    name: str

    def step(self, buttons: int) -> None:
        """One frame with the bits of BUTTON_BITS held on controller 1."""

    def ram(self) -> NDArray[np.uint8]:
        """The 2,048 bytes of work RAM."""

    def rgb(self) -> NDArray[np.uint8]:
        """The last picture, [240, 256, 3]."""

    def poke(self, address: int, value: int) -> None:
        """Write one byte of work RAM."""


class Cynes:
    name = "cynes"

    def __init__(self, path: Path) -> None:
        self._console = import_module("cynes").NES(str(path))
        self._picture: NDArray[np.uint8] = np.zeros((240, 256, 3), np.uint8)

    def step(self, buttons: int) -> None:
        self._console.controller = REVERSED[buttons]
        self._picture = self._console.step(1)

    def ram(self) -> NDArray[np.uint8]:
        console = self._console
        return np.array([console[address] for address in range(2048)], np.uint8)

    def rgb(self) -> NDArray[np.uint8]:
        return np.asarray(self._picture)

    def poke(self, address: int, value: int) -> None:
        self._console[address] = value


class NesPy:
    name = "nes_py"

    def __init__(self, path: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._environment = _nes_py_environment(path)
        self._environment.reset()

    def step(self, buttons: int) -> None:
        self._environment._frame_advance(buttons)

    def ram(self) -> NDArray[np.uint8]:
        return np.asarray(self._environment.ram).copy()

    def rgb(self) -> NDArray[np.uint8]:
        return np.asarray(self._environment.screen)

    def poke(self, address: int, value: int) -> None:
        self._environment.ram[address] = value


class StableRetro:
    """FCEUmm through libretro. It draws and mixes sound in every frame."""

    name = "stable-retro"

    def __init__(self, path: Path) -> None:
        self._core = import_module("stable_retro").RetroEmulator(str(path))
        self._core.step()

    def step(self, buttons: int) -> None:
        self._core.set_button_mask(RETRO_ORDER[buttons], 0)
        self._core.step()

    def ram(self) -> NDArray[np.uint8]:
        state, start = self._state()
        return np.frombuffer(state[start : start + 2048], np.uint8)

    def _state(self) -> tuple[bytes, int]:
        """FCEUmm's save state is a list of tagged chunks; the work RAM is the one called RAM."""
        state = bytes(self._core.get_state())
        return state, state.index(b"RAM\x00") + 8

    def rgb(self) -> NDArray[np.uint8]:
        return np.asarray(self._core.get_screen())

    def poke(self, address: int, value: int) -> None:
        state, start = self._state()
        self._core.set_state(state[: start + address] + bytes([value]) + state[start + address + 1 :])


REVERSED = [int(f"{value:08b}"[::-1], 2) for value in range(256)]
# libretro's joypad: B, (Y), Select, Start, Up, Down, Left, Right, A
RETRO_ORDER = [
    np.array([value >> bit & 1 if bit >= 0 else 0 for bit in (1, -1, 2, 3, 4, 5, 6, 7, 0)], np.uint8)
    for value in range(256)
]
RIVALS: dict[str, tuple[str, Any]] = {
    "cynes": ("cynes", Cynes),
    "nes_py": ("nes_py", NesPy),
    "stable-retro": ("stable_retro", StableRetro),
}


def installed() -> list[str]:
    """The rivals that can be imported here."""
    return [name for name, (module, _) in RIVALS.items() if importlib.util.find_spec(module)]


def start(name: str, rom: Path | bytes) -> Rival:
    """A rival at power-on with a ROM."""
    module, make = RIVALS[name]
    if importlib.util.find_spec(module) is None:
        raise MissingPackage(f"{name} is not installed; pip install {module.replace('_', '-')}")
    if isinstance(rom, Path):
        started: Rival = make(rom)
        return started
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test.nes"
        path.write_bytes(rom)
        rival: Rival = make(path)
        return rival


def _nes_py_environment(path: Path) -> Any:
    """nes_py multiplies header bytes as uint8, which overflows under NumPy 2; its two sizes are corrected here."""
    with contextlib.redirect_stderr(io.StringIO()):  # gym prints a notice about its age
        header = import_module("nes_py._rom").ROM
        environment = import_module("nes_py").NESEnv
    header.prg_rom_size = property(lambda self: 16 * int(self.header[4]))
    header.chr_rom_size = property(lambda self: 8 * int(self.header[5]))
    return environment(str(path))


def mario_rom() -> Path | None:
    """The cartridge that the gym-super-mario-bros wheel carries, where it is installed."""
    spec = importlib.util.find_spec("gym_super_mario_bros")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_roms" / "super-mario-bros.nes"
    return path if path.is_file() else None
