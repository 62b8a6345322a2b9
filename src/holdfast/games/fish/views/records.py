"""What a fish run's evaluations say about first steps and spawns, derived from its `evals` folder into small files.

Nothing here is measured anew: every line follows from the recorded episodes, so the files can be written at any time.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.curriculum.deck_light import write_light
from holdfast.games.fish.school_records import HISTORY, TRACE
from holdfast.games.fish.world.decks import headings_deg, velocity_bins, velocity_facts
from holdfast.games.fish.world.measure import HIGH_SPEED, SECTOR_DEG, SECTORS, SPEED_BIN, final_share
from holdfast.kit.disk import replace_file
from holdfast.runs.metrics import read_lines

CLUSTERS, SPAWNS = "step_one_clusters.jsonl", "spawn_stats.jsonl"
SUMMARY, WORST = "step_one_stage_summary.json", "step_one_worst.json"
WHOLE_TRACE = "schedule_trace.json"  # the stream of iterations as one file
LARGEST = 6  # bins that go into the deck of the worst


class Judged(NamedTuple):
    """One evaluation during the run, episode by episode."""

    iteration: int
    type: str  # of the deck block in use
    episodes: Mapping[str, np.ndarray]


class StepOne(NamedTuple):
    """One fish that died in the first step of an evaluation episode."""

    iteration: int
    type: str
    episode: int
    fish: int
    fish_pos: list[float]
    pred_pos: list[float]  # after that step, as the velocity
    pred_vel: list[float]


def read_judged(folder: Path) -> list[Judged]:
    """The learned policy's evaluations of a fish run, oldest first; empty for any other run."""
    types = {line["iteration"]: line["type"] for line in read_lines(folder / HISTORY)}
    found = []
    for iteration in sorted(types):
        path = folder / "evals" / f"{iteration:06d}.json"
        if path.is_file():
            episodes = json.loads(path.read_text(encoding="utf-8"))["policies"]["learned"]["episodes"]
            found.append(
                Judged(iteration, types[iteration], {name: np.array(column) for name, column in episodes.items()})
            )
    return found


def read_yardsticks(folder: Path) -> dict[str, np.ndarray]:
    """Death steps [E, F] of each scripted policy, on the seeds of the evaluations during the run; best first."""
    path = folder / "evals" / "yardsticks.json"
    policies = json.loads(path.read_text(encoding="utf-8"))["policies"] if path.is_file() else {}
    deaths = {name: np.array(policy["episodes"]["death_step"]) for name, policy in policies.items()}
    return dict(sorted(deaths.items(), key=lambda item: -float(final_share(item[1]).mean())))


def step_one_deaths(judged: Judged) -> list[StepOne]:
    """Each with where it was and how the predator moved."""
    of = judged.episodes
    return [
        StepOne(
            judged.iteration,
            judged.type,
            int(episode),
            int(fish),
            of["fish_pos"][episode, fish].tolist(),
            [float(of[f"first_pred_{axis}"][episode]) for axis in ("x", "y")],
            [float(of[f"first_pred_v{axis}"][episode]) for axis in ("x", "y")],
        )
        for episode, fish in np.argwhere(of["death_step"] == 1)
    ]


def clustered(deaths: list[StepOne]) -> list[dict[str, Any]]:
    """By predator heading and speed, largest first, each with a sample."""
    if not deaths:
        return []
    bins = [tuple(pair) for pair in velocity_bins(np.array([death.pred_vel for death in deaths])).tolist()]
    samples = dict(zip(reversed(bins), reversed(deaths), strict=True))  # the first of each bin
    return [
        {
            "heading_deg": SECTOR_DEG * kind[0],
            "speed": round(SPEED_BIN * kind[1], 6),
            "count": count,
            "share": count / len(deaths),
            "sample": {"predator_velocity": samples[kind].pred_vel, **samples[kind]._asdict()},
        }
        for kind, count in sorted(Counter(bins).items(), key=lambda item: (-item[1], item[0]))
    ]


def cluster_line(judged: Judged) -> dict[str, Any]:
    deaths = step_one_deaths(judged)
    clusters = clustered(deaths)
    velocities = np.array([death.pred_vel for death in deaths]).reshape(-1, 2)
    fast = np.hypot(*velocities.T) >= HIGH_SPEED
    share = np.bincount(velocity_bins(velocities)[fast, 0], minlength=SECTORS) / max(len(deaths), 1)
    return {
        "iteration": judged.iteration,
        "type": judged.type,
        "step_one": len(deaths),
        "top_share": clusters[0]["share"] if clusters else 0.0,
        "high_speed_share": share.tolist(),
        "clusters": clusters,
        "deaths": [death._asdict() for death in deaths],
    }


def spawn_line(judged: Judged) -> dict[str, Any]:
    """Heading, speed and radius of the predators after their pre-roll."""
    of = judged.episodes
    heading, speed = of["spawn_heading"], of["spawn_speed"]
    velocities = np.stack([speed * np.cos(heading), speed * np.sin(heading)], axis=1)
    return {
        "iteration": judged.iteration,
        "type": judged.type,
        "heading_deg": headings_deg(velocities).tolist(),
        "speed": speed.tolist(),
        "radius": of["spawn_radius"].tolist(),
        **velocity_facts(velocities),
    }


def stage_summary(deaths: list[StepOne]) -> dict[str, Any]:
    """Step-one deaths of all evaluations together, by type."""
    by_type: dict[str, list[StepOne]] = defaultdict(list)
    for death in deaths:
        by_type[death.type or "spawn"].append(death)
    types = {
        kind: {
            "step_one": len(some),
            "share": len(some) / len(deaths),
            "evaluations": len({death.iteration for death in some}),
            "heading_histogram": velocity_facts(np.array([death.pred_vel for death in some]))["heading_histogram"],
        }
        for kind, some in sorted(by_type.items())
    }
    return {"step_one": len(deaths), "types": types}


def write_school_records(folder: Path) -> list[Path]:
    """The four files of a fish run; none for a run that has no school evaluations."""
    judged = read_judged(folder)
    if not judged:
        return []
    deaths = [death for one in judged for death in step_one_deaths(one)]
    _write_lines(folder / CLUSTERS, [cluster_line(one) for one in judged])
    _write_lines(folder / SPAWNS, [spawn_line(one) for one in judged])
    replace_file(folder / SUMMARY, json.dumps(stage_summary(deaths), indent=1).encode())
    replace_file(folder / WHOLE_TRACE, json.dumps(read_lines(folder / TRACE), indent=1).encode())
    written = [folder / CLUSTERS, folder / SPAWNS, folder / SUMMARY, folder / WHOLE_TRACE]
    worst = clustered(deaths)[:LARGEST]
    if worst:
        velocities = np.array([cluster["sample"]["predator_velocity"] for cluster in worst])
        note = f"samples of the {len(worst)} largest groups of step-one deaths"
        write_light(folder / WORST, velocities, note, summary={"clusters": worst})
        written.append(folder / WORST)
    return written


def _write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    replace_file(path, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
