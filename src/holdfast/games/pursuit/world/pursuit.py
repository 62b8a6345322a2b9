"""The shell around the rules of a duel: spec, plans, scripted players and picture."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from holdfast.games.pursuit.world import opening, rules, scripted, spawn
from holdfast.games.pursuit.world.checks import check_settings, diagonal, setting_problems, start_problem
from holdfast.games.pursuit.world.constants import (
    as_record,
    believed_size,
    judging_size,
    make_rules,
    masked,
    observation_parts,
    observation_size,
)
from holdfast.games.pursuit.world.duel import (
    DUEL_COLUMNS,
    EVADER,
    FARTHEST_START,
    OBSTACLES,
    PURSUER,
    ROOM,
    SIDES,
    SPAWN_MAX,
    SPAWN_MIN,
    Duel,
    make_rows,
    side_columns,
    term_columns,
    views,
)
from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.games.pursuit.world.shares import refuse_dominant
from holdfast.kit.compiled import announced, use_threads
from holdfast.kit.errors import ConfigError, UnknownName, WorldError, nearest
from holdfast.worlds.api import Act, ArrayWorld, LevelParameter, Plan, Role, RoleBuffers, World, WorldSpec
from holdfast.worlds.bounds import ANYTHING, KEYS, Bounds
from holdfast.worlds.bounds import LONGEST as LONGEST_EPISODE
from holdfast.worlds.spaces import Continuous, Observations
from holdfast.worlds.spec import make_buffers

LONGEST = 1_000_000
FAR = 1e6  # m, and m/s: beyond any arena
BOUND = 2.0  # scaled numbers are within 1, or a little more where motors and odometry are randomised


def side_role(settings: PursuitSettings, side: int) -> Role:
    """What one side sees and does: numbers within -1 and 1 for speed (0 to the largest) and turn rate."""
    bound = BOUND
    if settings.obs == "sensor" and settings.sense_radius is not None:
        bound = max(bound, 1.2 * diagonal(settings) / settings.sense_radius)  # shown by the masking curriculum
    parts = observation_parts(settings, side)
    apart = (judging_size(settings, side), believed_size(settings))
    sight = Observations((observation_size(settings, side),), np.dtype(np.float32), -bound, bound, parts, *apart)
    numbers = 1 if settings.fixed_speed else 2
    return Role(SIDES[side], 1, sight, Continuous((-1.0,) * numbers, (1.0,) * numbers))


def level_parameters(s: PursuitSettings) -> tuple[LevelParameter, ...]:
    """In the order of the constants in `duel.py`."""
    farthest = FARTHEST_START * diagonal(s)
    level = [
        LevelParameter("spawn_min", s.spawn_min, 0.0, farthest, "least distance at the start, m"),
        LevelParameter("spawn_max", s.spawn_max, 0.0, farthest, "largest distance at the start, m"),
        LevelParameter("obstacles", s.obstacles, 0, ROOM, "circles in the arena"),
        LevelParameter("max_steps", s.max_steps, 1, LONGEST, "world steps until the evader has escaped"),
    ]
    for side, name in enumerate(SIDES):
        if masked(s, side):
            meaning = f"probability that the {name} is shown the other whatever its sight"
            level.append(LevelParameter(f"full_{name}", 0.0, 0.0, 1.0, meaning))
    return tuple(level)


def played(settings: PursuitSettings) -> tuple[int, ...]:
    return tuple(side for side, name in enumerate(SIDES) if settings.play in ("both", name))


def pursuit_spec(settings: PursuitSettings) -> WorldSpec:
    sides = played(settings)
    returns = tuple(f"return_{SIDES[side]}" for side in sides) if len(sides) > 1 else ("return",)
    score = "return" if settings.task == "navigate" else ("escaped" if settings.play == "evader" else "captured")
    return WorldSpec(
        name="pursuit",
        version=6,
        roles=tuple(side_role(settings, side) for side in sides),
        columns=("length", *returns, *DUEL_COLUMNS, *side_columns(), *term_columns()),
        score=score,
        level=level_parameters(settings),
    )


def ray_directions(rays: int) -> np.ndarray:
    """[R, 2] cosine and sine of each ray's angle from the heading, the first straight behind."""
    angles = -np.pi + 2.0 * np.pi * np.arange(rays) / rays
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


class Pursuit(ArrayWorld):
    """N duels. Roles are those of `settings.play`; a side that is not played follows its script."""

    Settings = PursuitSettings
    state: Duel

    def __init__(self, settings: PursuitSettings, lanes: int, seed: int, threads: int = 1) -> None:
        check_settings(settings)
        self.rows = make_rows(lanes)
        super().__init__(pursuit_spec(settings), lanes, seed, threads, views(self.rows))
        self.settings = settings
        self.rules = as_record(make_rules(settings))
        self.rays = ray_directions(settings.lidar_rays)
        self.sides = (self._side_buffers(PURSUER), self._side_buffers(EVADER))
        self._script_actions = np.zeros((lanes, 1, 1 if settings.fixed_speed else 2), np.float32)
        with announced("pursuit", rules.__file__):
            nobody = np.empty(0, np.int64)
            self._begin(nobody)
            self.scripted("pursuer", "random", nobody)
            self._step(self._script_actions[:0], self._script_actions[:0])
        if settings.task == "duel":
            refuse_dominant(settings)

    @classmethod
    def spec_for(cls, settings: PursuitSettings) -> WorldSpec | None:
        return None if setting_problems(settings) else pursuit_spec(settings)

    def bounds(self) -> dict[str, Bounds]:
        """Circles in their room, cells of an arena that has a size, steps that count from 0."""
        farthest = FARTHEST_START * diagonal(self.settings)
        return {
            **dict.fromkeys(("tally", "terms", "least_distance"), ANYTHING),
            **dict.fromkeys(("pose", "circles", "circle_shift", "trail", "moved", "command"), (-FAR, FAR)),
            **dict.fromkeys(("distance", "circle_distance", "spawn_distance"), (-FAR, FAR)),
            **dict.fromkeys(("v_max", "gain", "lag", "delay"), (0.0, FAR)),
            **dict.fromkeys(("orbit", "mirror"), (-1.0, 1.0)),
            "last_seen": (-FAR, float(LONGEST_EPISODE)),
            "total": (-(FAR**2), FAR**2),
            **dict.fromkeys(("step", "goals"), (0, LONGEST)),
            **dict.fromkeys(("n_circles", "missing"), (0, ROOM)),
            **dict.fromkeys(("visible", "exchanged"), (0, 1)),
            "half": (1e-3, 1e6),
            "level": (np.zeros(6), np.array([farthest, farthest, ROOM, LONGEST, 1.0, 1.0])),
            "seen_at": (-LONGEST_EPISODE, LONGEST_EPISODE),
            "visited": KEYS,
        }

    def _side_buffers(self, side: int) -> RoleBuffers:
        """Of a side that is not played nobody reads them, but kernels write to them."""
        return self.roles.get(SIDES[side]) or make_buffers(side_role(self.settings, side), self.lanes)

    def _begin(self, lanes: np.ndarray) -> None:
        opening.begin(self.clock, self.rows, *self.sides, self.rays, self.rules, lanes)
        self._refuse_unplaced()

    def step(self, actions: Mapping[str, np.ndarray]) -> None:
        given = [actions[name] if name in self.roles else self._opponent(name) for name in SIDES]
        self._step(*given)
        self._refuse_unplaced()

    def _step(self, pursuer: np.ndarray, evader: np.ndarray) -> None:
        use_threads(self.threads)
        rules.step(self.clock, self.rows, *self.sides, pursuer, evader, self.rays, self.rules)

    def _opponent(self, name: str) -> np.ndarray:
        if self.settings.task == "navigate":
            return self._script_actions  # the task itself moves the other side
        return self.scripted(name, self.settings.opponent)

    def _refuse_unplaced(self) -> None:
        if self.state.unplaced.any():
            lane = int(np.flatnonzero(self.state.unplaced)[0])
            raise WorldError(
                f"world pursuit: lane {lane} found no start in {spawn.LAYOUTS} layouts; "
                "widen spawn_min to spawn_max, or ask for fewer circles"
            )

    def plan(self, lanes: np.ndarray, plan: Plan) -> None:
        """As any world; distances and circles that leave no place to start are refused together."""
        before = self.clock.level[lanes].copy()
        super().plan(lanes, plan)
        problems = []
        for row in np.unique(self.clock.level[lanes][:, [SPAWN_MIN, SPAWN_MAX, OBSTACLES]], axis=0):
            problem = start_problem(self.settings, float(row[0]), float(row[1]), int(row[2]))
            if problem:
                problems.append(f"level: {problem}")
        if problems:
            self.clock.level[lanes] = before
            raise ConfigError(problems)

    def scripted(self, role: str, name: str, lanes: np.ndarray | None = None) -> np.ndarray:
        """A script's actions for a role, [N, 1, K]; only the rows of these lanes are written (all by default)."""
        known = scripted.SCRIPTS.get(role)
        if known is None:
            raise UnknownName(f"no role {role!r}{nearest(role, list(SIDES))}; there are {', '.join(SIDES)}")
        if name not in known:
            raise UnknownName(
                f"no script {name!r} for the {role}{nearest(name, list(known))}; there are {', '.join(known)}"
            )
        actions = np.zeros_like(self._script_actions)
        chosen = self.chosen(lanes)
        scripted.decide(self.clock, self.rows, self.rules, known[name], SIDES.index(role), chosen, actions)
        return actions

    def yardsticks(self) -> dict[str, Act]:
        """Scripts of the panel: for one side by name, for both in pairs `pursuer-evader`."""
        names = [scripted.PANEL[SIDES[side]] for side in played(self.settings)]
        pairs = [(one,) for one in names[0]] if len(names) == 1 else [(a, b) for a in names[0] for b in names[1]]
        found = {"-".join(pair): play_scripts(dict(zip(self.roles, pair, strict=True))) for pair in pairs}
        return {**super().yardsticks(), **found}

    def draw(self, lane: int) -> np.ndarray:
        """The arena from above; see `draw.picture`."""
        from holdfast.games.pursuit.world.draw import picture  # Pillow is only needed here

        return picture(self, lane)


def play_scripts(names: dict[str, str]) -> Act:
    """A policy that plays these scripts, one per role."""

    def act(world: World) -> dict[str, np.ndarray]:
        assert isinstance(world, Pursuit)
        return {role: world.scripted(role, name) for role, name in names.items()}

    return act
