"""The settings of the Mario world, one line each, and what they become for kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from holdfast.config.options import option
from holdfast.games.mario.world.play import BEST, POSITIVE, SIGNED, Rules

DISTANCE_MODES = {"best": BEST, "signed": SIGNED, "positive": POSITIVE}
MOST_STEPS = 1_000_000


@dataclass(frozen=True)
class MarioSettings:
    """Super Mario Bros, from the start of a stage to its flag or axe."""

    expert: ClassVar = True

    backend: Literal["console", "nes_py"] = option(
        "console",
        "Emulator. console: Holdfast's own, all lanes in this process; nes_py: the nes-py package, one "
        "supervised process per lane.",
    )
    rom: str = option(
        "",
        "Path of the ROM file; empty: the installed package's; own: Holdfast's small test cartridge.",
        example="own",
    )
    blocks: bool = option(
        False,
        "Compile the game's hot code paths. Takes minutes once, then plays nearly twice as many steps per second.",
        free=True,
    )
    stages: str = option(
        "1-1",
        "Stages that episodes begin in: 1-1, a list 1-1,1-3, a world 1-*, or all.",
        expert=False,
        example="1-2",
    )
    stage_weights: Literal["uniform", "need"] = option(
        "uniform",
        "How often each stage comes: all alike, or those cleared seldom more often (need).",
    )
    auto_start: bool = option(
        True,
        "Begin episodes in play; false: on the title screen, where the policy must press START.",
    )
    obs: Literal["compact", "tiles", "pixels"] = option(
        "compact",
        "Observation. compact: 328 numbers around Mario from memory; tiles: 873 numbers; pixels: 84 x 84 grey images.",
        expert=False,
    )
    stack: int = option(
        4,
        "Number of frames stacked in an observation of pixels.",
        low=1,
        high=16,
        only=("world.obs", ("pixels",)),
    )
    max_pool: bool = option(
        True,
        "Take the brighter of a step's last two frames for each pixel, against flicker.",
        only=("world.obs", ("pixels",)),
    )
    actions: str = option(
        "simple",
        "Set of actions: right, simple, complex, extended, or a list of buttons such as NOOP,RIGHT+B,RIGHT+A+B.",
        expert=False,
        example="complex",
    )
    frame_skip: int = option(4, "Number of frames per step.", low=1, high=60, unit="frames")
    sticky: float = option(
        0.0,
        "Probability that a step repeats the previous step's buttons. Raise it to train policies that do not "
        "memorise one way.",
        low=0.0,
        high=0.95,
        example="0.25",
    )
    noop_max: int = option(
        30,
        "Largest number of frames without a button at the start of an episode.",
        low=0,
        high=240,
        unit="frames",
    )
    life_mode: Literal["life", "game"] = option(
        "life",
        "Whether the first lost life ends the episode, or the last of the game.",
    )
    max_steps: int = option(2500, "Truncate episodes after this many steps.", low=1, high=MOST_STEPS, unit="steps")
    stagnation_steps: int = option(
        200,
        "Truncate episodes after this many steps without new ground or a new room.",
        low=1,
        high=MOST_STEPS,
        unit="steps",
    )
    stagnation_terminal: bool = option(
        False,
        "Let standing still terminate the episode instead of truncating it, so that its value is not bootstrapped.",
    )
    maze_rule: Literal["end", "continue"] = option(
        "end",
        "Mazes. end: being sent back, or certain to be, ends the episode; continue: the first loop of a room "
        "continues, the second or a pipe to old ground ends it.",
    )
    skip_busy: bool = option(True, "Skip loading screens and pipes within the step that led there.")
    alarm: Literal["stop", "warn"] = option(
        "stop",
        "What to do when a lane plays longer than the game's own clock allows, which would be an emulator error.",
        free=True,
    )
    base_weight: float = option(
        1.0,
        "Coefficient of the game's own reward: pixels to the right, clock, death.",
        low=0.0,
    )
    score_weight: float = option(0.025, "Coefficient of points of the game's score.", low=0.0)
    distance_mode: Literal["best", "signed", "positive"] = option(
        "best",
        "Distance that is rewarded. best: only new ground; signed: every pixel; positive: pixels to the right, "
        "also repeated ones.",
    )
    distance_weight: float = option(0.0125, "Reward per pixel of distance.", low=0.0)
    distance_weight_final: float | None = option(
        None,
        "Reward per pixel at the end of its annealing; none: constant.",
        low=0.0,
        example="0.005",
    )
    distance_anneal: int = option(
        0,
        "Number of steps of a lane over which the reward per pixel is annealed.",
        low=0,
        unit="steps",
        example="80000",
    )
    early_steps: int = option(
        0,
        "Number of first steps of a lane with a reward per pixel of their own.",
        low=0,
        unit="steps",
        example="20000",
    )
    early_distance_weight: float = option(0.025, "Reward per pixel in a lane's first world.early_steps.", low=0.0)
    scale_start: float = option(
        0.02,
        "Factor on all rewards but that of the episode's end, at the start of annealing.",
        low=0.0,
    )
    scale_final: float = option(0.02, "Factor on all rewards but that of the episode's end, after annealing.", low=0.0)
    scale_anneal: int = option(
        0,
        "Number of steps of a lane over which that factor is annealed; 0: final from the first step on.",
        low=0,
        unit="steps",
    )
    flag_reward: float = option(
        1.0,
        "Reward for clearing the stage. Raise it where the way to the flag pays less than another.",
    )
    death_start: float = option(-1.0, "Reward for a lost life or a maze's loop, at the start of annealing.", high=0.0)
    death_final: float = option(-1.0, "Reward for a lost life or a maze's loop, after annealing.", high=0.0)
    death_anneal: int = option(
        0,
        "Number of steps of a lane over which that reward is annealed; 0: final from the first step on.",
        low=0,
        unit="steps",
    )
    milestone_every: int = option(0, "Distance between milestones; 0: none.", low=0, unit="px", example="256")
    milestone_bonus: float = option(
        0.0,
        "Reward for each milestone passed for the first time in an episode.",
        low=0.0,
        example="0.5",
    )
    script: str = option("", "Forced first steps of an episode: BUTTONS:STEPS,…", example="RIGHT+B:240,RIGHT+A+B:60")
    script_scope: Literal["run", "episode"] = option(
        "run",
        "Whether the script is played in a lane's first episode only (run), or in every early one (episode).",
    )
    script_until: int = option(
        0,
        "Number of steps of a lane in which new episodes begin with the script.",
        low=0,
        only=("world.script_scope", ("episode",)),
        unit="steps",
        example="80000",
    )
    forward_steps: int = option(
        0,
        "Number of first steps of each lane that are forced forward.",
        low=0,
        unit="steps",
        example="1024",
    )
    forward_action: str = option(
        "",
        "Buttons of a forced forward step; empty: the best one probed, RIGHT+B or RIGHT.",
        example="RIGHT+B",
    )
    probe_steps: int = option(
        0,
        "Number of steps that each action is tried for to find the forward action; 0: none.",
        low=0,
        high=24,
        unit="steps",
        example="24",
    )

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
