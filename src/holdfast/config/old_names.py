"""Options of earlier versions that are gone or have another name, so that they are answered with what became of them.

A run of an earlier version wrote every option down. Those that had no effect there are dropped, so that it can still be
read; with any other value the run could not go on as it was, and the option is named.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from holdfast.curriculum.bytype import parse_by_type
from holdfast.curriculum.gate_settings import PER_TYPE
from holdfast.curriculum.pairs import number_text
from holdfast.kit.errors import ConfigError


class Gone(NamedTuple):
    """What became of an option, or of one value of it."""

    version: str  # in which it was removed
    instead: str
    idle: Any = None  # the value with which it had no effect; None: it had an effect with any


LINEAGE = "response.anew trains whole pairs from other first weights"
PURSUERS = "its gain did not hold over seeds; league.size keeps earlier opponents"
POOL = "challengers join the pool only between rounds of the best-response test (response.rounds)"
FINISH = "duel.finish_share lets the first role learn alone at the end"

OF_GAMES = ("density", "boost", "bootstrap", "series")  # sections of single games that 0.1 wrote for every world

CONSTANTS: dict[str, Any] = {  # options that nothing used with another value, and what they are now
    "learner.adam_eps": 1e-05,
    "replay.beta_start": 0.4,
    "replay.beta_final": 1.0,
    "starts.bin_px": 64,
    "starts.storey_px": 64,
    "starts.reach_px": 128,
    "adaptive.distance_low": 0.05,
    "adaptive.distance_high": 0.3,
    "adaptive.distance_rate": 0.05,
    "adaptive.entropy_low": 0.05,
    "adaptive.entropy_high": 0.3,
    "adaptive.entropy_rate": 0.1,
    "adaptive.lr_low": 0.05,
    "adaptive.lr_high": 0.3,
    "adaptive.lr_rate": 0.05,
    "duel.force_first_switch": 0,
    "levels.obstacles_from": 8.0,
    "levels.min_obstacles": 0,
    "levels.min_evaluations": 1,
    "levels.regress_floor": 0.02,
    "levels.regress_patience": 3,
    "league.power": 2.0,
    "league.half_life": 200.0,
    "health.ring": 15,
    "health.back": 3,
    "health.max_per_turn": 3,
    "health.log_std_floor": -2.0,
    "ewc.samples": 1024,
    "rnd.embed": 64,
    "rnd.hidden": 128,
    "rnd.lr": 0.001,
    "rnd.share": 0.25,
    "rnd.clip": 2.0,
    "metrics.slow_step_count": 5,
    "metrics.slow_step_window_s": 120.0,
    "harvest.before": 20,
    "harvest.window": 20,
    "harvest.least_avoidable": 2,
    "harvest.per_bin": 8,
    "world.flee_share": 0.5,
    "world.flee_speed": 0.5,
    "world.dt": 0.05,
    "world.robot_radius": 0.15,
    "world.omega_max": 2.84,
    "world.circle_gap": 0.5,
    "world.allow_blind": False,
    "world.lidar_range": 5.0,
    "world.visibility_weight": 1.0,
    "world.h_ref": 1.0,
    "world.dr_lidar_noise": 0.015,
    "world.dr_position_noise": 0.005,
    "world.dr_heading_noise": 0.5,
    "world.dr_circle_shift": 0.1,
    "world.cbf_w_v": 150.0,
    "world.cbf_w_omega": 1.0,
    "world.cbf_point": 0.1,
    "world.cbf_r_min": 0.35,
}

REMOVED: dict[str, Gone] = {
    **{name: Gone("0.2.0", f"it is always {value}", value) for name, value in CONSTANTS.items()},
    "world.circle_r_min": Gone("0.2.0", "world.circles.radius has the smallest and the largest", 0.3),
    "world.circle_r_max": Gone("0.2.0", "world.circles.radius has the smallest and the largest", 1.0),
    "series.go_on": Gone("0.2.0", "a stage's next run always begins with its best policy", True),
    "world.use_visibility": Gone("0.2.0", "world.reward.hiding has its weight, 0 for off", False),
    "duel.generations": Gone("0.2.0", LINEAGE, 1),
    "duel.generation_share": Gone("0.2.0", LINEAGE, 0.0),
    "duel.partners": Gone("0.2.0", PURSUERS, 0),
    "duel.partner_share": Gone("0.2.0", PURSUERS, 0.6),
    "duel.sharpen_share": Gone("0.2.0", FINISH, 0.0),
    "duel.evader_waits": Gone("0.2.0", "duel.evader_lr slows the second role down by a fixed factor", 0.0),
    "league.challenge_every": Gone("0.2.0", POOL, 0),
    "league.challenge_steps": Gone("0.2.0", POOL, 1_500_000),
    "league.challenge_roles": Gone("0.2.0", POOL, "both"),
    "learner.entropy_schedule": Gone("0.2.0", "the entropy bonus falls linearly, see learner.entropy_share", "linear"),
}

RENAMED: dict[str, str] = {
    "world.obstacles_least": "world.circles.least",
    "world.circles_seen": "world.circles.observed",
    "world.distance_scale": "world.reward.distance",
    "world.capture_bonus": "world.reward.capture",
    "world.timeout_penalty": "world.reward.timeout",
    "world.shaping": "world.reward.shaping",
    "world.shaping_gamma": "world.reward.shaping_gamma",
    "world.w_vis_pursuer": "world.reward.visibility",
    "world.vis_rule": "world.reward.visibility_rule",
    "world.w_search": "world.reward.search",
    "world.t_stale": "world.reward.search_stale",
    "world.w_occlusion": "world.reward.occlusion",
    "world.survival_bonus": "world.reward.survival",
    "world.w_obs_approach": "world.reward.approach",
    "world.w_collision": "world.reward.collision",
    "world.w_wall": "world.reward.wall",
    "world.w_safety": "world.reward.safety",
    "world.w_cbf": "world.reward.unsafe",
    "world.w_interv": "world.reward.intervention",
    "world.allow_dominant": "world.reward.allow_dominant",
    "world.dr_gain": "world.noise.gain",
    "world.dr_delay": "world.noise.delay",
    "world.dr_tau0": "world.noise.time_constant",
    "world.cbf_decay": "world.safety.decay",
    "world.cbf_body": "world.safety.body",
    "world.cbf_robot": "world.safety.robots",
    "world.lidar_rays": "world.lidar.rays",
    "world.lidar_noise": "world.lidar.noise",
    **{
        f"adaptive.{channel}_{part}": f"adaptive.{channel}.{part}"
        for channel in ("distance", "entropy", "lr")
        for part in ("min", "max")
    },
}

REMOVED_VALUES: dict[tuple[str, str], Gone] = {
    ("learner.lr_schedule", "quadratic"): Gone("0.2.0", "use linear or cosine, and learner.lr_restart to settle twice"),
}


def what_became_of(key: str, value: Any, known: Collection[str]) -> str | None:
    """Why an option, or this value of it, is no longer there or called otherwise; None if it never was or still is."""
    if key not in known and RENAMED.get(key) in known:
        return f"{key} is called {RENAMED[key]} since 0.2.0"
    if key in known:
        return _value_gone(key, value)
    if _is_by_type(key):
        return _as_a_table(key, value)
    found = REMOVED.get(key)
    if found is not None:
        return f"{key} was removed in {found.version}: {found.instead}"
    return None


def _value_gone(key: str, value: Any) -> str | None:
    found = REMOVED_VALUES.get((key, str(value)))
    return None if found is None else f"{key} = {value} was removed in {found.version}: {found.instead}"


def renewed(table: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """A configuration of 0.1 in today's words: names that changed, and without sections of other games."""
    sections = {key.partition(".")[0] for key in known}
    kept = {name: value for name, value in table.items() if name not in OF_GAMES or name in sections}
    found = without_idle(_series_by_full_names(kept), known)
    return {
        name: _renewed_section(name, content, known) if isinstance(content, dict) else content
        for name, content in found.items()
    }


def _renewed_section(section: str, content: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in content.items():
        key = f"{section}.{name}"
        if _is_by_type(key):
            for kind, number in parse_by_type(str(value), key).items():
                _put(found, f"by_type.{kind}.{_per_type_key(key)}", number)
        elif key not in known and RENAMED.get(key) in known:
            _put(found, RENAMED[key].removeprefix(f"{section}."), value)
        elif key == "evaluation.world" and isinstance(value, dict):
            found[name] = _renewed_section("world", value, known)
        else:
            found[name] = value
    return found


def _put(table: dict[str, Any], name: str, value: Any) -> None:
    *tables, last = name.split(".")
    for one in tables:
        table = table.setdefault(one, {})
    table[last] = value


def _is_by_type(key: str) -> bool:
    """Whether this was one of the gate's texts `type:value,…`."""
    return key.startswith("gate.") and key.endswith("_by_type") and _per_type_key(key) in PER_TYPE


def _per_type_key(key: str) -> str:
    return key.removeprefix("gate.").removesuffix("_by_type")


def _as_a_table(key: str, value: Any) -> str:
    """How values by type are written today."""
    try:
        values = parse_by_type(str(value), key)
    except ConfigError:
        values = {}
    name = _per_type_key(key)
    pairs = values.items() or [("TYPE", "VALUE")]
    now = ", ".join(f"gate.by_type.{kind}.{name} = {number_text(number)}" for kind, number in pairs)
    return f"{key} is a table since 0.2.0: {now}"


def _series_by_full_names(table: dict[str, Any]) -> dict[str, Any]:
    """`series.world` held options of the world alone, without its name."""
    series = table.get("series")
    if not isinstance(series, dict) or not isinstance(series.get("world"), dict):
        return table
    others = {name: value for name, value in series.items() if name != "world"}
    stages = {
        stage: {f"world.{name}": value for name, value in options.items()}
        for stage, options in series["world"].items()
        if isinstance(options, dict)
    }
    return {**table, "series": {**others, "stages": stages}}


def without_idle(table: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """The options a run wrote down, without those that are gone and had no effect in it."""

    def kept(section: str, content: dict[str, Any]) -> dict[str, Any]:
        names = ((f"{section}.{key}", key) for key in content)
        return {key: content[key] for name, key in names if name in known or not _is_idle(name, content[key])}

    return {name: kept(name, content) if isinstance(content, dict) else content for name, content in table.items()}


def _is_idle(key: str, value: Any) -> bool:
    found = REMOVED.get(key)
    return found is not None and found.idle is not None and value == found.idle
