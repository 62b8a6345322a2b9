"""What a lane keeps beside the shared clock, what never changes while a world runs, and the names of both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from holdfast.kit.aligned import aligned

GOES_ON, FLAG, CASTLE, PIT, CLOCK, DEATH, MAZE, WARP, STAGNATION, TIMEOUT, WORKER = range(11)
REASONS = ("goes on", "flag", "castle", "pit", "clock", "death", "maze", "warp", "stagnation", "timeout", "worker")

BASE, SCORE, DISTANCE, MILESTONE, END = range(5)
TERMS = ("base", "score", "distance", "milestone", "end")

BEST, SIGNED, POSITIVE = range(3)  # how distance is paid
STICKY, NOOPS, STAGE = range(3)  # places of the level parameters

# Numbers of an ended episode, in the order of `clock.ended`.
COLUMNS = (
    "length",
    "return",
    "cleared",
    "raw_return",
    "max_x",
    "frames",
    "rooms",
    "loops",
    "points",
    "coins",
    "clock_left",
    "forced_steps",
    "room_x",
    *(f"paid_{term}" for term in TERMS),
    *(f"end_{reason}" for reason in REASONS[1:WORKER]),  # a worker can only be lost where there are some
)
FIRST_TERM = COLUMNS.index("paid_base")
FIRST_REASON = COLUMNS.index("end_flag")


# Columns of `Play.track`: the episode's accounts, all int64.
STAGE_NUMBER = 0  # of the stage the episode began in
HELD = 1  # buttons of the last step
TRACKED = 2  # 1: in control in the frame before, in this room
LAST_X, LAST_CLOCK = 3, 4  # of that frame
LAST_SCORE = 5  # after the step before
ROOM_BEST_X, MAX_X = 6, 7
ROOMS = 8  # entered after the first; where a maze goes on after its loop is one, too
LOOPS = 9  # times a maze sent the player back
LOADING = 10  # 1: a room is being loaded
DEAD = 11  # 1: a life has been lost, the next one has not begun
CAUSE = 12  # reason of the last lost life
STAGNANT = 13  # steps since new ground or a new room
MILESTONES = 14  # passed in this episode
FRAMES = 15
FORCED = 16  # steps that were not the policy's own
GROUND = 17  # pixels of new ground in this step
CASTLE_X = 18  # furthest x in castles: a pipe of 8-4 that leads back before it is a wrong one
LOOPED = 19  # 1: a maze has sent the player back in this room
TRACK_COLUMNS = 20

# Columns of `Play.lane`: what belongs to the lane, not to the episode in it.
LANE_STEPS = 0  # since the world was made: what annealing counts
SCRIPT_AT = 1  # next step of the script; its length when it is over
FORWARD_LEFT = 2  # steps in which the forward action is forced
GROUND_PX = 3  # new ground since the world was made
LANE_COLUMNS = 4

STAGES = 32
LARGEST = 1 << 40  # of a count or a position

RAW_TOTAL = len(TERMS)  # column of `Play.paid` after the terms: the game's own reward, unscaled


class Play(NamedTuple):
    """The state of a lane beyond its clock. Few wide arrays: kernels that take many arrays compile for minutes."""

    console: np.ndarray  # [N, bytes] u8, see nes/layout.py
    track: np.ndarray  # [N, TRACK_COLUMNS] i64
    paid: np.ndarray  # [N, terms + 1] f64, return so far by term, then RAW_TOTAL
    lane: np.ndarray  # [N, LANE_COLUMNS] i64
    distance_weight: np.ndarray  # [N] f64, pay for a pixel before it is annealed
    ended_stage: np.ndarray  # [N] i64, of the episode that ended last
    ended_reason: np.ndarray  # [N] i64


OWN = ("lane", "distance_weight")


def make_play(lanes: int, row_bytes: int) -> Play:
    return Play(
        console=aligned((lanes, row_bytes), np.uint8),
        track=np.zeros((lanes, TRACK_COLUMNS), np.int64),
        paid=np.zeros((lanes, len(TERMS) + 1)),
        lane=np.zeros((lanes, LANE_COLUMNS), np.int64),
        distance_weight=np.zeros(lanes),
        ended_stage=np.zeros(lanes, np.int64),
        ended_reason=np.zeros(lanes, np.int64),
    )


def track_bounds() -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of each column of `Play.track`; positions may lie left of a room."""
    low, high = np.zeros(TRACK_COLUMNS, np.int64), np.full(TRACK_COLUMNS, LARGEST)
    low[[LAST_X, LAST_CLOCK, LAST_SCORE, ROOM_BEST_X, MAX_X, GROUND, CASTLE_X]] = -LARGEST
    high[STAGE_NUMBER], high[HELD], high[CAUSE] = STAGES - 1, 0xFF, len(REASONS) - 1
    high[[TRACKED, LOADING, DEAD, LOOPED]] = 1
    return low, high


def lane_bounds(script_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for `Play.lane`."""
    low, high = np.zeros(LANE_COLUMNS, np.int64), np.full(LANE_COLUMNS, LARGEST)
    low[GROUND_PX], high[SCRIPT_AT] = -LARGEST, script_steps
    return low, high


class Fixed(NamedTuple):
    """What kernels read and never write."""

    rom: np.ndarray  # u8, program and tiles
    code: np.ndarray  # u32, the program predecoded
    starts: np.ndarray  # [S, bytes] u8, rows to begin from
    stages: np.ndarray  # [S] i64, their numbers
    cumulated: np.ndarray  # [S] f64, chances of the stages up to this one; rewritten between steps
    areas: np.ndarray  # [32] u8, what the title screen must be told for each stage
    buttons: np.ndarray  # [A] u8
    script: np.ndarray  # [K] u8, buttons of forced steps


class Rules(NamedTuple):
    """Settings as numbers."""

    frame_address: int  # of the console's run_frame
    frame_skip: int
    forward_buttons: int
    script_every_episode: bool
    script_until: int
    from_title: bool
    skip_busy: bool
    maze_ends: bool
    whole_game: bool
    stagnation_steps: int
    stagnation_terminal: bool
    max_steps: int
    base_weight: float
    score_weight: float
    distance_mode: int
    distance_weight_final: float  # below 0: it stays as it is
    distance_anneal: int
    early_steps: int
    early_distance_weight: float
    scale_start: float
    scale_final: float
    scale_anneal: int
    flag_reward: float
    death_start: float
    death_final: float
    death_anneal: int
    milestone_every: int
    milestone_bonus: float
    wide: bool  # the wide tile observation instead of the compact one
