"""A NES for NROM cartridges as a batch of arrays: `Console(load_rom("game.nes"), lanes=64)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.nes.cartridge import Cartridge, load_rom

if TYPE_CHECKING:
    from holdfast.nes.console import BUTTON_BITS, Console

__all__ = ["BUTTON_BITS", "Cartridge", "Console", "load_rom"]


def __getattr__(name: str) -> Any:
    """`Console` brings Numba with it, so it is imported when first asked for."""
    if name in ("Console", "BUTTON_BITS"):
        from holdfast.nes import console

        return getattr(console, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
