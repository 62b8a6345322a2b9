"""What can be wrong with a deck's file."""

from __future__ import annotations

from holdfast.kit.errors import HoldfastError


class DeckError(HoldfastError):
    """A deck file is missing, damaged, or not for this world; the text names the file and the part."""
