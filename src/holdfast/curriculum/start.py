"""Which curriculum a run has."""

from __future__ import annotations

from pathlib import Path

from holdfast.config.sections import Config
from holdfast.curriculum.live import Append, Curriculum, Tell


def make_curriculum(config: Config, folder: Path, tell: Tell, append: Append) -> Curriculum:
    if config.world_name == "fish":
        from holdfast.games.fish.school import SchoolCurriculum

        return SchoolCurriculum(config, folder, tell, append)
    if config.world_name == "mario":
        from holdfast.games.mario.stages import StageCurriculum

        return StageCurriculum(config, folder, tell)
    return Curriculum()
