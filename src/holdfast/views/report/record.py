"""Everything a report shows, read from a run folder that may be whole, still growing, or torn by a crash.

Only run.json must be there. What else is missing or unreadable is named in `missing`, not a reason to fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from holdfast.runs.folder import WHOLE, RunFolder
from holdfast.runs.plain_files import read_json
from holdfast.runs.reading import read_lines
from holdfast.views.run_list import status_of

LARGEST = 1e300
MEDIA = {".mp4": "video/mp4", ".gif": "image/gif", ".png": "image/png"}
ENDED = (*WHOLE, "interrupted")  # with a result.json of their own; an earlier one may lie there otherwise


class Score(NamedTuple):
    """One policy on one set of episodes."""

    mean: float
    low: float
    high: float
    worst: float
    episodes: int


class Judged(NamedTuple):
    """One file of `evals/`: scores by policy, as they were at one iteration."""

    iteration: int
    score_name: str
    scores: dict[str, Score]


Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Record:
    """A run as its folder tells it."""

    folder: Path
    status: str  # as `holdfast runs` tells it
    description: dict[str, Any]  # run.json
    metrics: Rows
    timing: Rows
    events: Rows
    yardsticks: Judged | None  # on the seeds used during the run
    final: Judged | None  # on held-out seeds
    result: dict[str, Any]  # empty unless the run came to an end
    media: list[Path]
    missing: list[str]

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def config(self) -> dict[str, dict[str, Any]]:
        """The options by section; sections that are no tables are left out."""
        return options_of_run(self.description)

    @property
    def iteration(self) -> int:
        return max((int(row["iteration"]) for row in self.metrics), default=0)

    @property
    def was_resumed(self) -> bool:
        return any(event.get("event") == "resumed" for event in self.events)

    @property
    def is_duel(self) -> bool:
        """Two roles learn from each other."""
        return self.config.get("duel", {}).get("mode", "off") != "off"

    @cached_property
    def evaluations(self) -> Rows:
        return [row for row in self.metrics if is_number(row.get("evaluation.score"))]


def options_of_run(description: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The options in a run.json by section; sections that are no tables are left out."""
    found = description.get("config")
    sections = found if isinstance(found, dict) else {}
    return {str(name): section for name, section in sections.items() if isinstance(section, dict)}


def read_record(folder: Path) -> Record:
    description = RunFolder(folder).describe()
    status = status_of(folder)
    result = read_object(folder / "result.json") if status in ENDED else {}
    found = Record(
        folder=folder,
        status=status,
        description=description,
        metrics=_rows(folder / "metrics.jsonl"),
        timing=_rows(folder / "timing.jsonl"),
        events=[row for row in read_lines(folder / "events.jsonl") if isinstance(row, dict)],
        yardsticks=read_judged(folder / "evals" / "yardsticks.json"),
        final=read_judged(folder / "evals" / "final.json"),
        result=result,
        media=_media(folder / "media"),
        missing=[],
    )
    found.missing.extend(_missing(found))
    return found


def _missing(record: Record) -> list[str]:
    """What a whole run would have, in the reader's words."""
    lacks = {
        "no iteration is complete yet (metrics.jsonl has no whole line)": not record.metrics,
        "the policy was not evaluated yet": not record.evaluations and record.final is None,
        "no yardsticks were played (evals/yardsticks.json)": record.yardsticks is None and record.final is None,
        "no evaluation on held-out episodes (evals/final.json): it is made when a run reaches its end": record.final
        is None,
        f"the evaluation on held-out episodes is of iteration {record.final.iteration if record.final else 0}, "
        f"the run is at {record.iteration}": record.final is not None and record.final.iteration < record.iteration,
        "no result.json: the run did not end by itself": not record.result,
        "no clock times (timing.jsonl)": not record.timing,
    }
    return [text for text, lacking in lacks.items() if lacking]


def _rows(path: Path) -> Rows:
    """Lines of a stream that belong to an iteration."""
    return [row for row in read_lines(path) if isinstance(row, dict) and is_number(row.get("iteration"))]


def is_number(value: object) -> TypeGuard[float]:
    """A finite number as JSON has them: no true, no NaN, no whole number too large for a float."""
    return type(value) in (int, float) and abs(value) < LARGEST  # type: ignore[arg-type]


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object, or an empty one where there is none that can be read."""
    try:
        found = read_json(path)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def read_judged(path: Path) -> Judged | None:
    content = read_object(path)
    policies = content.get("policies")
    if not isinstance(policies, dict) or not is_number(content.get("iteration")):
        return None
    scores = {str(name): _score(policy) for name, policy in policies.items()}
    whole = {name: score for name, score in scores.items() if score is not None}
    return Judged(int(content["iteration"]), str(content.get("score", "score")), whole) if whole else None


def _score(policy: Any) -> Score | None:
    summary = policy.get("summary") if isinstance(policy, dict) else None
    if not isinstance(summary, dict) or not all(is_number(summary.get(name)) for name in Score._fields):
        return None
    return Score(**{name: summary[name] for name in Score._fields})


def _media(folder: Path) -> list[Path]:
    """Finished pictures and videos; hidden ones are still being written."""
    if not folder.is_dir():
        return []
    files = [
        path for path in sorted(folder.iterdir()) if path.suffix.lower() in MEDIA and not path.name.startswith(".")
    ]
    return [path for path in files if path.is_file() and not path.is_symlink()]
