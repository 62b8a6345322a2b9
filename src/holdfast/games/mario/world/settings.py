"""The settings of the Mario world, one line each, and what they become for kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from holdfast.config.options import option
from holdfast.games.mario.world.play import BEST, POSITIVE, SIGNED, Rules

DISTANCE_MODES = {"best": BEST, "signed": SIGNED, "positive": POSITIVE}
MOST_STEPS = 1_000_000


@dataclass(frozen=True)
class MarioSettings:
    """Super Mario Bros, from the start of a stage to its flag or axe."""

    backend: Literal["console", "nes_py"] = option(
        "console", "console: our own, all lanes in this process; nes_py: that emulator, a supervised process per lane"
    )
    rom: str = option("", "path of the ROM; empty: look for it; own: the project's own small cartridge")
    blocks: bool = option(
        False,
        "compile the game's own hot paths into the console: some minutes once, then nearly twice as many steps",
        free=True,
    )
    stages: str = option("1-1", "which stages episodes begin in: 1-1, a list 1-1,1-3, a world 1-*, or all")
    stage_weights: Literal["uniform", "need"] = option(
        "uniform", "need: stages that are cleared seldom come more often"
    )
    auto_start: bool = option(True, "begin in play; false: on the title screen, where the policy must press START")
    obs: Literal["compact", "tiles", "pixels"] = option(
        "compact", "compact: 328 numbers around Mario; tiles: 873; pixels: 84 x 84 gray pictures"
    )
    stack: int = option(4, "how many pictures are seen at once", low=1, high=16, only=("world.obs", ("pixels",)))
    max_pool: bool = option(True, "see the brighter of a step's last two frames", only=("world.obs", ("pixels",)))
    actions: str = option("simple", "right, simple, complex, extended, or an own list like NOOP,RIGHT+B,RIGHT+A+B")
    frame_skip: int = option(4, "frames per step", low=1, high=60)
    sticky: float = option(0.0, "chance that a step repeats the buttons of the one before", low=0.0, high=0.95)
    noop_max: int = option(30, "an episode begins with up to this many frames without a button", low=0, high=240)
    life_mode: Literal["life", "game"] = option("life", "life: the first lost life ends the episode; game: the last")
    max_steps: int = option(2500, "an episode is cut after this many steps", low=1, high=MOST_STEPS)
    stagnation_steps: int = option(
        200, "it is cut after this many steps without new ground or a new room", low=1, high=MOST_STEPS
    )
    stagnation_terminal: bool = option(False, "standing still ends the episode for good: nothing of worth follows")
    maze_rule: Literal["end", "continue"] = option(
        "end",
        "end: being sent back by a maze, or certain to be, ends the episode; continue: the first loop of a room leads "
        "on, the second or a pipe to old ground ends it",
    )
    skip_busy: bool = option(True, "loading and pipes pass within the step that led there")
    alarm: Literal["stop", "warn"] = option(
        "stop", "what to do when a lane plays on for longer than the game's own clock allows", free=True
    )
    base_weight: float = option(1.0, "weight of the game's reward: pixels to the right, ticks, death", low=0.0)
    score_weight: float = option(0.025, "weight of points of the game's score", low=0.0)
    distance_mode: Literal["best", "signed", "positive"] = option(
        "best", "best: only new ground pays; signed: any pixel; positive: pixels to the right, also again and again"
    )
    distance_weight: float = option(0.0125, "pay for a pixel of distance", low=0.0)
    distance_weight_final: float | None = option(None, "where it is annealed to; none: it stays", low=0.0)
    distance_anneal: int = option(0, "steps of a lane until it is there", low=0)
    early_steps: int = option(0, "first steps of a lane with a distance weight of their own", low=0)
    early_distance_weight: float = option(0.025, "that weight", low=0.0)
    scale_start: float = option(0.02, "factor on everything but the end's reward", low=0.0)
    scale_final: float = option(0.02, "where it is annealed to", low=0.0)
    scale_anneal: int = option(0, "steps of a lane until it is there; 0: from the first step on", low=0)
    flag_reward: float = option(1.0, "for a cleared stage")
    death_start: float = option(-1.0, "for a lost life or a maze's loop", high=0.0)
    death_final: float = option(-1.0, "where it is annealed to", high=0.0)
    death_anneal: int = option(0, "steps of a lane until it is there; 0: from the first step on", low=0)
    milestone_every: int = option(0, "pixels between milestones; 0: none", low=0)
    milestone_bonus: float = option(0.0, "for each milestone passed for the first time in an episode", low=0.0)
    script: str = option("", "forced first steps, as RIGHT+B:240,RIGHT+A+B:60 (buttons:steps)")
    script_scope: Literal["run", "episode"] = option("run", "force a lane's first episode, or every early one")
    script_until: int = option(
        0,
        "steps of a lane in which new episodes begin with the script",
        low=0,
        only=("world.script_scope", ("episode",)),
    )
    forward_steps: int = option(0, "first steps of each lane that are forced forward", low=0)
    forward_action: str = option("", "buttons of a forced forward step; empty: the best probed, RIGHT+B or RIGHT")
    probe_steps: int = option(0, "try each action for this many steps to find the forward action", low=0, high=24)

    @property
    def light(self) -> MarioSettings:
        """The same world without what only makes it faster, for whoever wants no more than its spec."""
        return replace(self, blocks=False)


def make_rules(settings: MarioSettings, frame_address: int, forward_buttons: int) -> Rules:
    final = settings.distance_weight_final
    return Rules(
        frame_address=frame_address,
        frame_skip=settings.frame_skip,
        forward_buttons=forward_buttons,
        script_every_episode=settings.script_scope == "episode",
        script_until=settings.script_until,
        from_title=not settings.auto_start,
        skip_busy=settings.skip_busy,
        maze_ends=settings.maze_rule == "end",
        whole_game=settings.life_mode == "game",
        stagnation_steps=settings.stagnation_steps,
        stagnation_terminal=settings.stagnation_terminal,
        max_steps=settings.max_steps,
        base_weight=float(settings.base_weight),
        score_weight=float(settings.score_weight),
        distance_mode=DISTANCE_MODES[settings.distance_mode],
        distance_weight_final=-1.0 if final is None else float(final),
        distance_anneal=settings.distance_anneal,
        early_steps=settings.early_steps,
        early_distance_weight=float(settings.early_distance_weight),
        scale_start=float(settings.scale_start),
        scale_final=float(settings.scale_final),
        scale_anneal=settings.scale_anneal,
        flag_reward=float(settings.flag_reward),
        death_start=float(settings.death_start),
        death_final=float(settings.death_final),
        death_anneal=settings.death_anneal,
        milestone_every=settings.milestone_every,
        milestone_bonus=float(settings.milestone_bonus),
        wide=settings.obs == "tiles",
    )
