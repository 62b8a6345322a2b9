"""The shell around the game's rules: settings to arrays, spec, stage chances, the alarm, yardsticks and pictures."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.games.mario.game import GAME
from holdfast.games.mario.world import facts, pixels, play, rules, scripted, sight
from holdfast.games.mario.world.actions import buttons_name, read_actions
from holdfast.games.mario.world.errors import NoEpisodeEnds
from holdfast.games.mario.world.play import COLUMNS, Fixed, Play, make_play
from holdfast.games.mario.world.rom import open_rom
from holdfast.games.mario.world.script import forward_buttons, read_script
from holdfast.games.mario.world.settings import MarioSettings, make_rules
from holdfast.games.mario.world.stages import STAGES, read_stages, stage
from holdfast.games.mario.world.starts import Game, make_game, start_rows, title_rows
from holdfast.kit.compiled import announced, use_threads
from holdfast.kit.errors import SituationError
from holdfast.nes import by_address
from holdfast.nes.bounds import console_problems
from holdfast.nes.view import View, plan_view
from holdfast.worlds.api import Act, ArrayWorld, Episodes, LevelParameter, Role, Situation, WorldSpec
from holdfast.worlds.bounds import Bounds
from holdfast.worlds.spaces import Discrete, Observations

NEED_FLOOR = 0.05  # a stage that is always cleared keeps this much weight
LONGEST_CLOCK = 400
LONGEST_NOOPS = 240
PICTURE = 84
LOADING_FRAMES = 600
LIVES_PER_GAME = 3
RATE_STEP = 0.05  # of the running clear rate: about the last twenty episodes of a stage
CLEARED = COLUMNS.index("cleared")
CAME_TO = [COLUMNS.index(name) for name in ("cleared", "rooms", "room_x", "end_maze")]
ROOMS_PER_STAGE = 1 << 12  # so that rooms of two stages have different numbers


def mario_spec(settings: MarioSettings) -> WorldSpec:
    actions = Discrete(len(read_actions(settings.actions, settings.auto_start)))
    return WorldSpec(
        name="mario",
        version=2,
        roles=(Role("player", 1, observations(settings), actions),),
        columns=COLUMNS,
        score="cleared",
        level=level_parameters(settings),
    )


def observations(settings: MarioSettings) -> Observations:
    if settings.obs == "pixels":
        return Observations((PICTURE, PICTURE, settings.stack), np.dtype(np.uint8), 0, 255)
    numbers = sight.WIDE_NUMBERS if settings.obs == "tiles" else sight.COMPACT_NUMBERS
    return Observations((numbers,), np.dtype(np.float32), -sight.BOUND, sight.BOUND)


def level_parameters(settings: MarioSettings) -> tuple[LevelParameter, ...]:
    stages = read_stages(settings.stages)
    found = [
        LevelParameter("sticky", settings.sticky, 0.0, 0.95, "chance that a step repeats the buttons before"),
        LevelParameter("noop_max", settings.noop_max, 0, LONGEST_NOOPS, "frames without a button at the start"),
    ]
    if len(stages) > 1:
        found.append(LevelParameter("stage", 0, 0, len(stages), "place in the list of stages; 0: drawn"))
    return tuple(found)


class Mario(ArrayWorld):
    """N consoles with the game in them."""

    Settings = MarioSettings
    game = GAME
    OWN = (*ArrayWorld.OWN, *play.OWN)
    LEFT = (*ArrayWorld.LEFT, "ended_stage", "ended_reason")
    state: Play

    def __init__(self, settings: MarioSettings, lanes: int, seed: int, threads: int = 1) -> None:
        self.settings = settings
        self.rom = open_rom(settings.rom)
        self.buttons = read_actions(settings.actions, settings.auto_start)
        self.stages = read_stages(settings.stages)
        self.fixed = self._make_fixed()
        state = make_play(lanes, self.fixed.starts.shape[1])
        super().__init__(self._make_spec(), lanes, seed, threads, state)
        self.words = self.state.console.view(np.int64)
        self.pictured = settings.obs == "pixels"
        self.before = np.zeros((lanes, self.state.console.shape[1] if self.pictured else 0), np.uint8)
        self.player = self.roles["player"]
        self.stage_rate = np.zeros(len(self.stages))  # share of clears, recent episodes counting most
        self.state.distance_weight[:] = settings.distance_weight
        self.state.lane[:, play.FORWARD_LEFT] = settings.forward_steps
        self.caption: tuple[str, ...] = ()  # lines that whoever draws wants beside the picture
        self.longest = self._longest_episode()
        self._compile()

    def bounds(self) -> dict[str, Bounds]:
        return {
            "console": (0, 255),
            "track": play.track_bounds(),
            "lane": play.lane_bounds(len(self.fixed.script)),
            "ended_stage": (0, len(STAGES) - 1),
            "ended_reason": (0, len(play.REASONS) - 1),
        }

    def problems_of(self, rows: Mapping[str, np.ndarray]) -> list[str]:
        problems = super().problems_of(rows)
        return problems + (console_problems(rows["console"], self.fixed.starts[0]) if "console" in rows else [])

    def _make_spec(self) -> WorldSpec:
        return mario_spec(self.settings)

    def _make_fixed(self) -> Fixed:
        game = make_game(self.rom, self.settings.blocks)
        with announced("NES machine", by_address.__file__):
            self.frame_address = by_address.frame_address()
        make_rows = start_rows if self.settings.auto_start else title_rows
        return self._fixed_with(game, make_rows(self.rom, game, self.stages))

    def _fixed_with(self, game: Game, starts: np.ndarray) -> Fixed:
        settings = self.settings
        script = read_script(settings.script, self.buttons, settings.frame_skip, settings.auto_start)
        return Fixed(
            rom=game.rom,
            code=game.code,
            starts=starts,
            stages=np.array(self.stages, np.int64),
            cumulated=np.cumsum(np.full(len(self.stages), 1.0 / len(self.stages))),
            areas=np.array([stage(number).area - 1 for number in range(len(STAGES))], np.uint8),
            buttons=np.array(self.buttons, np.uint8),
            script=np.array(script, np.uint8),
        )

    def _compile(self) -> None:
        self.rules = make_rules(self.settings, self.frame_address, 0)
        with announced("mario", pixels.__file__ if self.pictured else rules.__file__):
            self._begin(np.empty(0, np.int64))
            self._step(np.empty((0, 1), np.int64))
        if self.settings.forward_steps:
            self.rules = self.rules._replace(forward_buttons=self.forward)

    @cached_property
    def forward(self) -> int:
        """Buttons of a forced forward step: the option, the best action of a probe, RIGHT+B or RIGHT."""
        settings = self.settings
        if settings.probe_steps and not settings.forward_action:
            from holdfast.games.mario.world.probe import best_action, probe

            found = best_action(probe(settings))
            if found is not None:
                return self.buttons[found]
        return forward_buttons(settings.forward_action, self.buttons)

    def force_forward(self, lanes: np.ndarray, steps: int) -> None:
        """Let these lanes press the forward action in their next steps, whatever the policy says."""
        self.rules = self.rules._replace(forward_buttons=self.forward)
        self.state.lane[lanes, play.FORWARD_LEFT] = np.maximum(self.state.lane[lanes, play.FORWARD_LEFT], steps)

    @cached_property
    def view(self) -> View:
        return plan_view(size=PICTURE)

    def _longest_episode(self) -> float:
        """Steps after which the game's own clock must have ended any episode, with a quarter to spare."""
        frames = LONGEST_CLOCK * self.rom.clock_frames + LOADING_FRAMES
        lives = LIVES_PER_GAME if self.settings.life_mode == "game" else 1
        return 1.25 * frames * lives / self.settings.frame_skip

    def _begin(self, lanes: np.ndarray) -> None:
        common = (self.clock, self.state, self.words, self.fixed, self.rules, self.player, lanes)
        if self.pictured:
            pixels.begin_pixels(*common, self.view)
        else:
            rules.begin(*common)

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        self._step(actions["player"])
        if self.settings.stage_weights == "need":
            self._weigh_stages()
        if int(self.clock.t.max()) > self.longest:
            self._alarm()

    def _step(self, actions: np.ndarray) -> None:
        use_threads(self.threads)
        common = (self.clock, self.state, self.words, self.fixed, self.rules, self.player, actions, self.before)
        if self.pictured:
            pooled = self.settings.max_pool and self.settings.frame_skip > 1
            pixels.step_pixels(*common, self.before.view(np.int64), self.view, pooled)
        else:
            rules.step(*common)

    def _weigh_stages(self) -> None:
        """Chances of the next resets: what is seldom cleared comes more often. The same for all lanes of the world."""
        ended = np.flatnonzero(self.clock.terminated | self.clock.truncated)
        if not len(ended):
            return
        places = np.searchsorted(self.fixed.stages, self.state.ended_stage[ended])
        for place, cleared in zip(places, self.clock.ended[ended, CLEARED], strict=True):
            self.stage_rate[place] += RATE_STEP * (cleared - self.stage_rate[place])
        self._spread_chances()

    def _spread_chances(self) -> None:
        weights = 1.0 - self.stage_rate + NEED_FLOOR
        self.fixed.cumulated[:] = np.cumsum(weights / weights.sum())

    def _alarm(self) -> None:
        lane = int(self.clock.t.argmax())
        stage_name = STAGES[self.state.track[lane, play.STAGE_NUMBER]]
        text = (
            f"lane {lane} has played {self.clock.t[lane]} steps of stage {stage_name} without an "
            f"end; the game's own clock allows {self.longest:.0f}. Ends are not being seen: run `holdfast doctor mario`"
        )
        if self.settings.alarm == "stop":
            raise NoEpisodeEnds(text)
        print(f"holdfast: warning: {text}", file=sys.stderr)
        self.longest *= 2.0  # not again at every step

    def arrays(self) -> dict[str, np.ndarray]:
        return {**super().arrays(), "stage_rate": self.stage_rate}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> list[str]:
        rest = dict(arrays)
        rate = rest.pop("stage_rate", None)
        if rate is None or rate.shape != self.stage_rate.shape:
            raise SituationError("saved lanes do not fit mario: they were saved with other stages")
        if not (rate >= 0.0).all() or not (rate <= 1.0).all():
            raise SituationError("saved lanes do not fit mario: stage_rate holds what is no share")
        notes = super().restore(rest)
        if self.state.lane[:, play.FORWARD_LEFT].any():  # forced before the state was saved
            self.rules = self.rules._replace(forward_buttons=self.forward)
        self.stage_rate[:] = rate
        if self.settings.stage_weights == "need":
            self._spread_chances()
        return notes

    def finished(self) -> Episodes:
        """Beside the numbers: which stage it was (0 for 1-1), and why it ended (a place in REASONS)."""
        table = super().finished()
        lanes = table["lane"]
        ends = {"stage": self.state.ended_stage[lanes], "reason": self.state.ended_reason[lanes]}
        return Episodes({**table.columns, **ends})

    def standing(self) -> np.ndarray:
        """[N, 4]: whether the player is alive and in control, in which room of which stage, and at which x and y."""
        rows, track = self.state.console, self.state.track
        playing = [bool(facts.in_control(row)) and not facts.below_screen(row) for row in rows]
        rooms = track[:, play.STAGE_NUMBER] * ROOMS_PER_STAGE + track[:, play.ROOMS]
        here = [(int(facts.x(row)), int(facts.y(row))) for row in rows]
        return np.column_stack([np.array(playing, np.int64), rooms, np.array(here, np.int64)])

    def came_to(self, lanes: np.ndarray) -> np.ndarray:
        """[K, 4]: whether the episodes that ended last were cleared, to which room of which stage they came and how far
        in it, and whether a maze ended them."""
        numbers = self.clock.ended[lanes][:, CAME_TO].astype(np.int64)
        numbers[:, 1] += self.state.ended_stage[lanes] * ROOMS_PER_STAGE
        return numbers

    def ground_px(self) -> np.ndarray:
        """[N] pixels of new ground since the world was made."""
        return self.state.lane[:, play.GROUND_PX].copy()

    def begin_from(self, lanes: np.ndarray, situation: Situation) -> None:
        """The accounts of the episode begin here; its clock and what it has seen of the stage go on."""
        super().begin_from(lanes, situation)
        self.state.paid[lanes] = 0.0
        self.state.track[lanes, play.STAGNANT] = 0

    def identity(self) -> dict[str, Any]:
        """Which game it is, and what its actions press."""
        rom, pressed = self.rom, [buttons_name(held) for held in self.buttons]
        return {"rom_sha1": rom.sha1, "rom_family": rom.family, "rom_name": rom.name, "buttons": pressed}

    def yardsticks(self) -> dict[str, Act]:
        return {**super().yardsticks(), **scripted.POLICIES}

    def screen(self, lane: int) -> np.ndarray:
        """The game's own picture, [240, 256, 3]."""
        from holdfast.games.mario.world.draw import screen

        return screen(self.state.console[lane], self.words[lane], self.fixed.rom)

    def draw(self, lane: int) -> np.ndarray:
        """The picture with the held buttons and the facts beside it; see `draw.picture`."""
        from holdfast.games.mario.world.draw import picture  # Pillow and the painting kernel are only needed here

        return picture(self, lane)
