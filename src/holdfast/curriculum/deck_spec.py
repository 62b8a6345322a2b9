"""The text that describes a situation deck: `N:path[|key=value]*[;N:path…]`, one stage after another.

N is how many deals (resets) each school takes from the stage, not a number of iterations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, NamedTuple, get_args

from holdfast.config.options import GIVEN, option
from holdfast.curriculum.bytype import type_name
from holdfast.curriculum.pairs import finite_number, number_text, whole_number
from holdfast.kit.errors import ConfigError, nearest

DECK = ("deck.stages", GIVEN)
Apply = Literal["post_roll", "pre_roll"]
KEYS = ["type", "label", "apply", "scale_speed"]
DEFAULT_TYPE = "main"
OWN_HARVEST = "@harvest"  # instead of a path: what the run itself has harvested so far
NE_HEADING_DEG, NE_SPEED = (45.0, 90.0), 1.6  # the rule by which the first north-east deck was selected
MATCH_SHARE = 0.8


@dataclass(frozen=True)
class DeckSettings:
    """Which saved situations episodes start from, and how that supply is watched."""

    expert: ClassVar = True

    stages: str = option(
        "",
        "Saved situations that episodes start from, stage after stage: "
        "DEALS:FILE[|type=…|label=…|apply=…|scale_speed=…];… with DEALS resets per school; @harvest stands for "
        "the run's own harvest.",
        expert=False,
        example="1000:@harvest|label=harvest",
    )
    share: float = option(0.25, "Probability that a reset deals from the deck.", low=0.0, high=1.0, only=DECK)
    on_empty: Literal["spawn", "cycle", "stop"] = option(
        "spawn",
        "When the deck is dealt out: start episodes as usual (spawn), begin the deck again (cycle), or end the "
        "run (stop).",
        only=DECK,
    )
    force_reset_steps: int = option(
        0,
        "Truncate training episodes after this many steps so that the deck is dealt sooner; 0 disables.",
        low=0,
        unit="steps",
    )
    warn_ratio: float = option(
        0.7,
        "Warn once at most this fraction of the deck is left; 0 never warns.",
        low=0.0,
        high=1.0,
        only=DECK,
    )
    warn_patience: int = option(
        2,
        "Number of iterations in a row below deck.warn_ratio before the warning.",
        low=1,
        only=DECK,
        unit="iterations",
    )
    min_reinjections: str = option(
        "",
        "How often a deck type must come back after another was dealt: TYPE:COUNT,…; blocks are moved forward "
        "where it would not.",
        only=DECK,
        example="ne:2",
    )
    replay_count: int = option(
        2,
        "Number of worst episodes of each evaluation to keep, as tracks to film and as a deck of starts.",
        low=0,
        free=True,
    )


class Stage(NamedTuple):
    """One part of a deck."""

    deals: int  # per school
    path: str
    type: str
    label: str
    apply: Apply
    scale_speed: float


def parse_stages(text: str, where: str = "deck.stages") -> tuple[Stage, ...]:
    """The stages in order; every problem is told, each naming its part of the text."""
    stages: list[Stage] = []
    problems: list[str] = []
    if not text.strip():
        return ()
    for number, part in enumerate(text.split(";"), start=1):
        try:
            stages.append(_parse_stage(number, part))
        except ValueError as wrong:
            problems.append(f"{where}: stage {number}, {part.strip()!r}: {wrong}")
    if problems:
        raise ConfigError(problems)
    return tuple(stages)


def _parse_stage(number: int, part: str) -> Stage:
    head, *words = (piece.strip() for piece in part.split("|"))
    count, colon, path = head.partition(":")
    if not colon:
        raise ValueError("must begin with N:path")
    deals, path = whole_number(count.strip()), path.strip()
    if not path:
        raise ValueError("no path after the colon")
    values = _key_values(words)
    stage = Stage(
        deals,
        path,
        type_name(values.get("type", DEFAULT_TYPE)),
        values.get("label", default_label(number, path)),
        _apply(values.get("apply", "post_roll")),
        _scale(values.get("scale_speed", "1")),
    )
    if stage.apply == "pre_roll" and stage.scale_speed != 1:
        raise ValueError("scale_speed has no effect with apply=pre_roll, which draws speeds anew; use apply=post_roll")
    return stage


def _key_values(words: list[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for word in words:
        key, equals, value = (piece.strip() for piece in word.partition("="))
        if key not in KEYS:
            raise ValueError(f"unknown key {key!r}{nearest(key, KEYS)}; keys are {', '.join(KEYS)}")
        if not equals or not value:
            raise ValueError(f"key {key} has no value")
        if key in values:
            raise ValueError(f"key {key} is given twice")
        values[key] = value
    return values


def _apply(text: str) -> Apply:
    if text not in get_args(Apply):
        raise ValueError(f"apply={text} must be one of {', '.join(get_args(Apply))}")
    return "pre_roll" if text == "pre_roll" else "post_roll"


def _scale(text: str) -> float:
    scale = finite_number(text)
    if not 0 < scale <= 10:
        raise ValueError(f"scale_speed={text} must be above 0 and at most 10")
    return scale


def default_label(number: int, path: str) -> str:
    return f"block{number}:{PurePosixPath(path).stem}"


def print_stages(stages: Iterable[Stage]) -> str:
    """The shortest text that is read back as the same stages."""
    return ";".join(_print_stage(number, stage) for number, stage in enumerate(stages, start=1))


def _print_stage(number: int, stage: Stage) -> str:
    words = [f"{stage.deals}:{stage.path}"]
    if stage.type != DEFAULT_TYPE:
        words.append(f"type={stage.type}")
    if stage.label != default_label(number, stage.path):
        words.append(f"label={stage.label}")
    if stage.apply != "post_roll":
        words.append(f"apply={stage.apply}")
    if stage.scale_speed != 1:
        words.append(f"scale_speed={number_text(stage.scale_speed)}")
    return "|".join(words)


def deck_types(stages: Iterable[Stage]) -> tuple[str, ...]:
    """The types of a deck, in the order they first come."""
    return tuple(dict.fromkeys(stage.type for stage in stages))


def check_files(stages: Iterable[Stage], folder: Path, where: str = "deck.stages") -> None:
    """ConfigError naming each stage whose file is not there; paths are relative to `folder`."""
    missing = [
        f"{where}: stage {number} ({stage.label}): no file {folder / stage.path}"
        for number, stage in enumerate(stages, start=1)
        if stage.path != OWN_HARVEST and not (folder / stage.path).is_file()
    ]
    if missing:
        raise ConfigError(missing)


def type_of_velocity(vx: float, vy: float) -> str:
    """`ne` for a fast predator between north-east and north, `main` for any other."""
    heading_deg = math.degrees(math.atan2(vy, vx)) % 360.0
    low, high = NE_HEADING_DEG
    return "ne" if low <= heading_deg <= high and math.hypot(vx, vy) >= NE_SPEED else "main"


def mismatch(stage: Stage, velocities: Iterable[tuple[float, float]]) -> str | None:
    """A warning when fewer than 80 % of a stage's situations are of its declared type; free labels are not judged."""
    if stage.type not in ("ne", "main"):
        return None
    found = [type_of_velocity(vx, vy) == stage.type for vx, vy in velocities]
    if not found or sum(found) >= MATCH_SHARE * len(found):
        return None
    return f"{stage.label}: only {sum(found)} of {len(found)} situations are of the declared type {stage.type}"
