"""A run folder as an object: its configuration, how it ended, its metrics as an Arrow table, its policy, its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.api.policies import LoadedPolicy, load_policy
from holdfast.config.sections import Config
from holdfast.kit.errors import HoldfastError, RunFolderError
from holdfast.runs.folder import RunFolder, find_run
from holdfast.runs.plain_files import read_json
from holdfast.runs.reopen import config_of
from holdfast.runs.tables import as_table, metrics_rows
from holdfast.runs.watch import Result
from holdfast.views.judge import Film, film, find_policy
from holdfast.views.report.whole import write_whole_report

if TYPE_CHECKING:
    import pyarrow


class OpenedRun:
    """A run that exists, as `train`, `resume` and `open_run` return it. Only `report` and `film` write to its folder.

    >>> import holdfast as hf
    >>> run = hf.train("template", {"run.iterations": 2}, quiet=True)
    >>> run.metrics().column("agent_steps").to_pylist()
    [8192, 16384]
    >>> run.config.rollout.steps
    32
    """

    def __init__(self, folder: RunFolder, result: Result | None = None) -> None:
        self._run, self._result = folder, result

    def __repr__(self) -> str:
        return f"<run {self.name} in {self.folder}>"

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self._run.name

    @property
    def folder(self) -> Path:
        """Where everything about it lies."""
        return self._run.folder

    @property
    def config(self) -> Config:
        """Every option of it: `run.config.learner.lr`."""
        return config_of(self._run)

    @property
    def result(self) -> Result:
        """How it ended: `.outcome`, `.scores` by policy, `.counts`, `.elapsed_s` and more.

        HoldfastError while it has not ended, and if it failed.
        """
        if self._result is None:
            self._result = self._read_result()
        return self._result

    def _read_result(self) -> Result:
        path = self.folder / "result.json"
        if not path.is_file():
            raise HoldfastError(f"run {self.name} has no result yet: it is going on, or was stopped: hf.resume goes on")
        try:
            found = read_json(path)
            if found["outcome"] == "failed":
                raise HoldfastError(f"run {self.name} failed with {found['error']}: {found['text']}")
            return Result.from_json(found)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunFolderError(f"{path} cannot be read: {error}") from error

    def metrics(self) -> pyarrow.Table:
        """A row for each iteration so far, with every metric and the clock times beside it (docs/metrics.md).

        `.to_pandas()` makes a data frame of it where pandas is installed.
        """
        return as_table(metrics_rows(self.folder))

    def policy(self, checkpoint: str = "latest") -> LoadedPolicy:
        """What it learned: at the end, at its `"best"` evaluation, or at an iteration."""
        return load_policy(self.folder, checkpoint=checkpoint)

    def report(self, all_films: bool = False) -> Path:
        """Write report.html, the page of the run, and return its path; all metrics go to metrics.parquet beside it.

        `all_films`: film the worst episodes of every evaluation that kept them, where a game has such films.
        """
        return write_whole_report(self._run, all_films)

    def film(self, video: str | Path | None = None, *, episode: int = 0, policy: str = "learned") -> Path:
        """Film one of the held-out episodes as .mp4 or .gif, and return its path."""
        wanted = Film(video=None if video is None else str(video), episode=episode, policy=policy)
        return film(find_policy(str(self.folder), ""), wanted)


def open_run(run: str | Path, *, root: str = "runs") -> OpenedRun:
    """A run by its name below `root`, or by its folder.

    >>> import holdfast as hf
    >>> trained = hf.train("template", {"run.iterations": 2, "run.name": "seen"}, quiet=True)
    >>> hf.open_run("seen").result == trained.result
    True
    """
    return OpenedRun(find_run(str(run), root))
