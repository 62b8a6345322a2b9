"""What can go wrong with the game's ROM, its stages, buttons and scripts, or with a run that never ends an episode."""

from __future__ import annotations

from holdfast.kit.errors import HoldfastError


class RomNotFound(HoldfastError):
    """No ROM of the game; the text lists the places that were looked at."""


class WrongRom(HoldfastError):
    """A file that is no Super Mario Bros cartridge this world knows how to read."""


class StageError(HoldfastError):
    """A stage that the game does not have, or one that did not start as it should."""


class ActionError(HoldfastError):
    """A set of actions or a script of buttons that cannot be pressed in this world."""


class NoEpisodeEnds(HoldfastError):
    """A lane played longer than the game's own clock allows: ends are not being seen."""

    exit_status = 1
