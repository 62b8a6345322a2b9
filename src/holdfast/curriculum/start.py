"""Which curriculum a run has."""

from __future__ import annotations

from pathlib import Path

from holdfast.config.sections import Config
from holdfast.curriculum.live import Append, Curriculum, Tell
from holdfast.worlds.registry import game_of


def make_curriculum(config: Config, folder: Path, tell: Tell, append: Append) -> Curriculum:
    game = game_of(config)
    made: Curriculum = game.curriculum(config, folder, tell, append) if game.curriculum is not None else Curriculum()
    return made
