"""What can go wrong with a cartridge, a program or a script of inputs; each text says what was found and what to do."""

from __future__ import annotations

from holdfast.kit.errors import HoldfastError


class ConsoleError(HoldfastError):
    """Base of the console's own errors."""


class RomError(ConsoleError):
    """The file is not an iNES image, or its header and its length do not agree."""


class UnsupportedMapper(RomError):
    """The cartridge has a board other than NROM (mapper 0)."""


class UnsupportedFeature(ConsoleError):
    """The cartridge or its program needs something this console does not emulate."""


class InputScriptError(ConsoleError):
    """A line of an inputs script cannot be read; the text names the line."""


class AssemblyError(ConsoleError):
    """A line of 6502 assembly cannot be assembled; the text names the line."""


class LaneError(ConsoleError):
    """A lane number, a row or a buttons array does not fit the console."""


class ViewError(ConsoleError):
    """A setting of the small gray picture is outside what it can be."""
