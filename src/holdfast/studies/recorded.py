"""What a comparison reads of a finished run: its options, seed, measures and learning curve, from files alone.

No world is made and no configuration is parsed again, so that a thousand runs are read in seconds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.kit.errors import ConfigError, HoldfastError, UnknownName, nearest
from holdfast.runs.folder import RUN_FILE, RunFolder
from holdfast.runs.reading import parsed, read_lines

SCORE = "score"
OF_RESULT = {
    "agent_steps": ("counts", "agent_steps"),
    "iterations": ("counts", "iteration"),
    "elapsed_s": ("elapsed_s",),
}
NOT_LEARNED_FROM = ("checkpoint.", "metrics.", "memory.")  # sections that change neither what is learned nor how judged
NAMES = frozenset(
    ("run.seed", "run.name", "run.root", "run.tensorboard", "run.allow_slow", "rollout.threads", "rollout.overlap")
)
STUDIES, RUNS = "studies", "runs"

Options = dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """A run that came to its end."""

    folder: Path
    preset: str
    seed: int
    options: Options  # flat, without seed and names
    result: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.folder.parent.parent.name}/{self.folder.name}"

    @property
    def score_name(self) -> str:
        return str(self.result.get("score_name", SCORE))

    def measure(self, name: str) -> float:
        """A number of the run as a whole; ConfigError names those there are."""
        if name in (SCORE, self.score_name):
            return float(self.result["scores"]["learned"]["mean"])
        if name in OF_RESULT:
            return float(_within(self.result, OF_RESULT[name]))
        columns = self._columns()
        if name not in columns:
            known = [SCORE, *columns, *OF_RESULT]
            raise ConfigError(
                [f"{self.name} has no measure {name!r}{nearest(name, known)}; there are {', '.join(known)}"]
            )
        return float(np.mean(columns[name]))

    def _columns(self) -> dict[str, list[float]]:
        """The columns of the final evaluation's episodes; none in self-play."""
        content = json.loads((self.folder / "evals/final.json").read_bytes())
        found = content["policies"]["learned"].get("episodes", {})
        return {name: values for name, values in found.items() if name not in ("lane", "key")}

    def curve(self, name: str) -> Curve:
        """A measure as the evaluations during the run found it; empty where it is not evaluated."""
        column = f"evaluation.{SCORE if name in (SCORE, self.score_name) else name}"
        mark = f'"{column}"'.encode()
        rows = [row for line in _lines(self.folder / "metrics.jsonl") if mark in line and (row := parsed(line))]
        return Curve(
            np.array([row["iteration"] for row in rows], np.float64),
            np.array([row["agent_steps"] for row in rows], np.float64),
            np.array([row[column] for row in rows], np.float64),
        )

    def seconds(self) -> tuple[np.ndarray, np.ndarray]:
        """Iterations, and the working seconds up to each, over all processes that the run lived in."""
        rows = read_lines(self.folder / "timing.jsonl")
        spent = [sum(value for name, value in row.items() if name.startswith("phase.")) for row in rows]
        return np.array([row["iteration"] for row in rows], np.float64), np.cumsum(np.array(spent, np.float64))


@dataclass(frozen=True)
class Curve:
    """A measure over a run."""

    iterations: np.ndarray
    agent_steps: np.ndarray
    values: np.ndarray


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\n")
    except OSError:
        return []


def _within(table: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        table = table[key]
    return table


# --- finding ---------------------------------------------------------------------------------------------------------


def run_folders(paths: list[str]) -> list[Path]:
    """The runs that the names or folders of studies and runs stand for, each once."""
    found: dict[Path, None] = {}
    for path in paths:
        found |= dict.fromkeys(_folders(path))
    return list(found)


def _folders(path: str) -> list[Path]:
    for place in (Path(path), Path(STUDIES) / path, Path(RUNS) / path):
        if (place / RUN_FILE).is_file():
            return [place]
        below = place / RUNS if (place / "study.toml").is_file() else place
        if below.is_dir() and (runs := sorted(one.parent for one in below.glob(f"*/{RUN_FILE}"))):
            return runs
    known = [one.name for root in (STUDIES, RUNS) for one in Path(root).glob("*") if one.is_dir()]
    raise UnknownName(f"no study or run {path!r}: no {STUDIES}/{path}, no {RUNS}/{path}{nearest(path, known)}")


def read_run(folder: Path) -> Recorded | str:
    """A run at its end, or why it cannot be compared."""
    try:
        description = RunFolder(folder).describe()
        result = json.loads((folder / "result.json").read_bytes())
        config = description["config"]
        if result["outcome"] == "interrupted":
            return "not at its end"
        return Recorded(
            folder,
            Path(str(description.get("preset", ""))).stem,
            int(config["run"]["seed"]),
            flat_options(config),
            result,
        )
    except FileNotFoundError:
        return "not at its end"
    except (HoldfastError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"cannot be read: {error}"


def flat_options(config: dict[str, Any]) -> Options:
    """The options of a run.json by their dotted names, without what neither learning nor judging depends on."""
    found = {
        f"{section}.{name}": value
        for section, options in config.items()
        if isinstance(options, dict)
        for name, value in options.items()
    }
    return {key: value for key, value in found.items() if key not in NAMES and not key.startswith(NOT_LEARNED_FROM)}
