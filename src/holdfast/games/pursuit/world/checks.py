"""Which settings do not go together: told all at once, before anything is played."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from holdfast.config.options import options_of, out_of_bounds
from holdfast.games.pursuit.world import spawn
from holdfast.games.pursuit.world.constants import CIRCLE_GAP, ROBOT_RADIUS, as_record, make_rules
from holdfast.games.pursuit.world.duel import MAX_STEPS, OBSTACLES, SPAWN_MAX, SPAWN_MIN, make_rows, views
from holdfast.games.pursuit.world.scripted import SCRIPTS
from holdfast.games.pursuit.world.settings import PursuitSettings
from holdfast.kit.errors import ConfigError

TRIAL_LANES = 64
TRIAL_PLACES = 256  # tries in each
BLIND = "world.circles.observed = 0 lets nobody observe them: raise it"
RAREST_START = 1e-3  # of all places: rarer ones would cost more time than the duels themselves


def setting_problems(settings: PursuitSettings) -> list[str]:
    """What is wrong with the settings by themselves."""
    problems = _out_of_bounds(settings)
    if problems:
        return problems
    problems = _side_problems(settings) + _size_problems(settings) + _sight_problems(settings)
    if settings.mirror and settings.heading != "sincos":
        problems.append("world.mirror needs world.heading = sincos: other angles are not turned over by a sign")
    return problems


def _out_of_bounds(settings: PursuitSettings) -> list[str]:
    """Settings made in Python have not passed the reader of presets and command lines."""
    found = []
    for info in options_of(PursuitSettings):
        value = getattr(settings, info.attribute)
        wrong = None if value is None else out_of_bounds(value, info)
        if wrong:
            found.append(f"world.{info.name} = {value} {wrong}")
    return found


def _side_problems(s: PursuitSettings) -> list[str]:
    found = []
    if s.play == "both":
        if s.task == "navigate":
            found.append("world.task = navigate is for one side: set world.play to pursuer or evader")
    elif s.task == "duel":
        other = "evader" if s.play == "pursuer" else "pursuer"
        if s.opponent not in SCRIPTS[other]:
            known = ", ".join(SCRIPTS[other])
            found.append(f"world.opponent = {s.opponent} is no script for the {other}; there are {known}")
        if s.opponent == "still" and s.fixed_speed:
            found.append("world.opponent = still cannot stand still with world.fixed_speed")
    elif s.opponent != "random":
        found.append(f"world.opponent = {s.opponent} has no effect with world.task = navigate: remove it")
    return found


def _size_problems(s: PursuitSettings) -> list[str]:
    found = []
    if min(s.arena_w, s.arena_h) <= 2.0 * ROBOT_RADIUS:
        found.append(f"a robot of {ROBOT_RADIUS:g} m does not fit into {s.arena_w:g} x {s.arena_h:g} m")
    if len(s.circles_radius) != 2 or s.circles_radius[0] > s.circles_radius[1]:
        given = ",".join(f"{radius:g}" for radius in s.circles_radius)
        found.append(f"world.circles.radius = {given}: must be the smallest and the largest, as in 0.3,1")
    if s.circles_least is not None and s.circles_least > s.obstacles:
        found.append(f"world.circles.least = {s.circles_least} is more than world.obstacles = {s.obstacles}")
    return found


def _sight_problems(s: PursuitSettings) -> list[str]:
    found = []
    limited = s.sense_radius is not None or s.fov_deg < 360.0 or s.occlusion
    if s.obs == "flat_masked" and not limited:
        found.append("world.obs = flat_masked masks nothing without a radius, a cone or occlusion: use flat")
    if s.obstacles > 0 and blind(s):
        found.append(f"world.obstacles = {s.obstacles}, but {BLIND}")
    if s.history == 0 and not s.history_lidar:
        found.append("world.history_lidar has no effect while world.history is 0: remove it")
    if s.reward_visibility == 0.0 and s.reward_visibility_rule != "sensor":
        found.append("world.reward.visibility_rule has no effect while world.reward.visibility is 0: remove it")
    if s.reward_search == 0.0 and s.reward_search_stale != 50:
        found.append("world.reward.search_stale has no effect while world.reward.search is 0: remove it")
    return found


def blind(s: PursuitSettings) -> bool:
    """Nobody observes circles."""
    return s.obs != "sensor" and s.circles_observed == 0


def start_problem(settings: PursuitSettings, spawn_min: float, spawn_max: float, obstacles: int) -> str | None:
    """Why no duel can start with these distances and circles, or nothing."""
    if obstacles > 0 and blind(settings):
        return f"{obstacles} circles, but {BLIND}"
    if spawn_min > spawn_max:
        return f"spawn_min = {spawn_min:g} m is more than spawn_max = {spawn_max:g} m"
    complete, accepted = _trial(_of_starts(settings), spawn_min, spawn_max, obstacles)
    size = f"{settings.arena_w:g} x {settings.arena_h:g} m"
    if complete == 0.0:
        radii = "radius {:g} to {:g} m".format(*settings.circles_radius)
        return f"{obstacles} circles of {radii} with gaps of {CIRCLE_GAP:g} m do not fit into {size}"
    if accepted < RAREST_START:
        return (
            f"starts {spawn_min:g} to {spawn_max:g} m apart among {obstacles} circles are too rare in {size}: "
            f"{accepted:.2g} of random places, at least {RAREST_START:g} are needed"
        )
    return None


def _of_starts(settings: PursuitSettings) -> PursuitSettings:
    """Only what starts depend on, so that worlds that differ elsewhere share a trial."""
    names = ("arena_w", "arena_h", "circles_radius")
    more = ("filter", "safety_body", "randomise")
    return PursuitSettings(**{name: getattr(settings, name) for name in (*names, *more)})


@lru_cache(maxsize=256)
def _trial(settings: PursuitSettings, spawn_min: float, spawn_max: float, obstacles: int) -> tuple[float, float]:
    """Share of layouts with all their circles, and of random places that are fit to start."""
    rows = make_rows(TRIAL_LANES)
    duel = views(rows)
    duel.level[:, SPAWN_MIN] = spawn_min
    duel.level[:, SPAWN_MAX] = spawn_max
    duel.level[:, OBSTACLES] = obstacles
    duel.level[:, MAX_STEPS] = 1
    keys = np.arange(1, TRIAL_LANES + 1, dtype=np.uint64)
    complete, accepted = spawn.trial(rows, as_record(make_rules(settings)), keys, TRIAL_PLACES)
    return complete / TRIAL_LANES, accepted / (TRIAL_LANES * TRIAL_PLACES)


def check_settings(settings: PursuitSettings) -> None:
    problems = setting_problems(settings)
    if not problems:
        start = start_problem(settings, settings.spawn_min, settings.spawn_max, settings.obstacles)
        problems = [f"world: {start}"] if start else []
    if problems:
        raise ConfigError(problems)


def diagonal(settings: PursuitSettings) -> float:
    return math.hypot(settings.arena_w, settings.arena_h)
