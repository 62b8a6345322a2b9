"""Pictures of a fish run in its `plots` folder, drawn from what the run recorded.

Each plot is a function from the recorded lines to a figure; a plot without data is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.games.fish.school_records import DECISIONS, HISTORY, TRACE
from holdfast.games.fish.views.records import Judged, read_judged, read_yardsticks, step_one_deaths
from holdfast.games.fish.world.decks import headings_deg
from holdfast.games.fish.world.measure import SECTOR_DEG, SECTORS, final_share
from holdfast.runs.metrics import read_lines

PLOTS = "plots"
EVENTS = {"advance": ("^", "tab:green"), "rollback": ("v", "tab:red"), "failure_hold": ("x", "tab:red"),
          "success_progress": ("o", "tab:green"), "locked": ("s", "tab:gray"), "frozen": ("d", "tab:gray"),
          "noop": (".", "tab:gray")}  # fmt: skip
DEATH_BIN = 25
BEST_SCRIPTS = 3  # drawn beside the survival curves


class Recorded(NamedTuple):
    """The lines a run left."""

    history: list[dict[str, Any]]
    trace: list[dict[str, Any]]
    decisions: list[dict[str, Any]]
    judged: list[Judged]
    scripts: dict[str, np.ndarray]  # death steps [E, F] on the same seeds, best policy first
    step_limit: int
    warn_ratio: float

    def evaluations(self, name: str) -> list[float]:
        return [line[name] for line in self.history]

    @property
    def evaluated_at(self) -> list[int]:
        return [line["iteration"] for line in self.history]


def read_recorded(folder: Path) -> Recorded:
    config = json.loads((folder / "run.json").read_text(encoding="utf-8"))["config"]
    evaluation = {**config["world"], **config["evaluation"]["world"]}
    return Recorded(
        read_lines(folder / HISTORY),
        read_lines(folder / TRACE),
        read_lines(folder / DECISIONS),
        read_judged(folder),
        read_yardsticks(folder),
        int(evaluation["steps"]),
        float(config.get("deck", {}).get("warn_ratio", 0.0)),
    )


def timeline(of: Recorded, figure: Any) -> bool:
    """Survival, early deaths and floor on the left; the tenth percentile of lifetimes on the right; gate events."""
    left = figure.subplots()
    x = of.evaluated_at
    left.plot(x, of.evaluations("avg_final"), "o-", label="average survival")
    left.plot(x, of.evaluations("min_final"), "o-", label="worst episode")
    left.plot(x, of.evaluations("early_100"), "o-", label="dead before step 100")
    left.plot(x, of.evaluations("floor_ratio"), ":", label="floor (nobody can save them)")
    left.plot(x, of.evaluations("ceiling_avg"), "--", color="tab:gray", label="ceiling of the average")
    for name, deaths in list(of.scripts.items())[:1]:
        share = final_share(deaths)
        left.axhline(share.mean(), ls="-.", lw=1, color="tab:blue", label=f"{name} (script), average")
        left.axhline(share.min(), ls="-.", lw=1, color="tab:orange", label=f"{name} (script), worst episode")
    for decision in of.decisions:
        mark, colour = EVENTS[decision["event"]]
        left.plot([decision["iteration"]], [1.04], mark, color=colour, clip_on=False)
        if decision["event"] in ("advance", "rollback"):
            left.axvline(decision["iteration"], color=colour, alpha=0.3)
    left.set(xlabel="iteration", ylabel="share of fish", ylim=(0, 1.05), title="Evaluations and gate events (top)")
    right = left.twinx()
    right.plot(x, of.evaluations("death_p10"), "-", color="tab:purple", alpha=0.5, label="death_p10 (right)")
    right.set(ylabel="steps", ylim=(0, 1.05 * of.step_limit))
    both = zip(left.get_legend_handles_labels(), right.get_legend_handles_labels(), strict=True)
    left.legend(*(mine + theirs for mine, theirs in both), loc="center right", fontsize=8)
    return bool(of.history)


def survival_curves(of: Recorded, figure: Any) -> bool:
    """Share alive after each step: first, middle and last evaluation, with the worst episode of the last."""
    axes = figure.subplots()
    steps = np.arange(of.step_limit + 1)
    if not of.judged:
        return False
    for one in [of.judged[index] for index in sorted({0, len(of.judged) // 2, len(of.judged) - 1})]:
        alive = _alive(one.episodes["death_step"], steps)
        axes.plot(steps, alive.mean(axis=0), label=f"iteration {one.iteration}, mean")
    axes.fill_between(steps, alive.min(axis=0), alive.mean(axis=0), alpha=0.2, label="down to the worst episode")
    axes.axhline(of.history[-1]["ceiling_avg"], ls="--", color="tab:gray", label="ceiling of the average")
    for name, deaths in list(of.scripts.items())[:BEST_SCRIPTS]:
        axes.plot(steps, _alive(deaths, steps).mean(axis=0), ls=":", lw=1, label=f"{name} (script)")
    axes.set(xlabel="step", ylabel="share alive", title="Survival curves", ylim=(None, 1.01))
    axes.legend(fontsize=8)
    return True


def _alive(death_step: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """[E, T]"""
    death = np.where(death_step < 0, steps[-1] + 1, death_step)
    return np.stack([1.0 - np.searchsorted(np.sort(row), steps, side="right") / len(row) for row in death])


def first_death(of: Recorded, figure: Any) -> bool:
    axes = figure.subplots()
    return _trained(of, axes, {"mean": "first_death_step_mean", "10th percentile": "first_death_step_p10"},
                    "step of the first death", "First death in training episodes")  # fmt: skip


def _trained(of: Recorded, axes: Any, names: dict[str, str], unit: str, title: str) -> bool:
    lines = [line for line in of.trace if line["training"]["episodes"]]
    for label, name in names.items():
        axes.plot([line["iteration"] for line in lines], [line["training"][name] for line in lines], label=label)
    axes.set(xlabel="iteration", ylabel=unit, title=title)
    axes.legend(fontsize=8)
    return bool(lines)


def density_and_first_death(of: Recorded, figure: Any) -> bool:
    axes = figure.subplots()
    drawn = _trained(of, axes, {"first death, mean": "first_death_step_mean"}, "step", "Density and first death")
    _beside(axes, of, "density", "density coefficient")
    return drawn


def density_and_entropy(of: Recorded, figure: Any) -> bool:
    axes = figure.subplots()
    axes.plot([line["iteration"] for line in of.trace], [line["entropy_coef"] for line in of.trace])
    axes.set(xlabel="iteration", ylabel="entropy coefficient", title="Density and entropy coefficient")
    _beside(axes, of, "density", "density coefficient")
    return bool(of.trace)


def _beside(axes: Any, of: Recorded, name: str, label: str) -> None:
    right = axes.twinx()
    right.step([line["iteration"] for line in of.trace], [line[name] for line in of.trace], where="post",
               color="tab:red", alpha=0.6)  # fmt: skip
    right.set_ylabel(label, color="tab:red")


def deck_left(of: Recorded, figure: Any) -> bool:
    """What is left of the deck, the warning's threshold, and which block was dealt."""
    lines = [line for line in of.trace if "block" in line["deck"]]
    axes = figure.subplots()
    x = [line["iteration"] for line in lines]
    axes.plot(x, [line["deck"]["ratio"] for line in lines], label="left of the deck")
    axes.axhline(of.warn_ratio, ls="--", color="tab:red", label="warning")
    labels = list(dict.fromkeys(line["deck"]["block"] for line in lines))
    for number, label in enumerate(labels):
        inside = [line["iteration"] for line in lines if line["deck"]["block"] == label]
        axes.axvspan(min(inside) - 0.5, max(inside) + 0.5, alpha=0.12, color=f"C{number}", label=label or "all dealt")
    axes.set(xlabel="iteration", ylabel="share", ylim=(-0.02, 1.02), title="Deck")
    axes.legend(fontsize=8)
    return bool(lines)


def step_one_polar(of: Recorded, figure: Any) -> bool:
    deaths = [death for one in of.judged for death in step_one_deaths(one)]
    axes = figure.add_subplot(projection="polar")
    if not deaths:
        return False
    heading = headings_deg(np.array([death.pred_vel for death in deaths]))
    counts = np.bincount((heading // SECTOR_DEG).astype(int), minlength=SECTORS)
    middle = np.radians(np.arange(SECTORS) * SECTOR_DEG + SECTOR_DEG / 2)
    axes.bar(middle, counts, width=np.radians(SECTOR_DEG) * 0.95, alpha=0.8)
    axes.set_title("Step-one deaths by the predator's heading")
    return True


def step_one_by_type(of: Recorded, figure: Any) -> bool:
    axes = figure.subplots()
    x = np.array(of.evaluated_at)
    for kind in sorted({line["type"] for line in of.history}):
        mine = np.array([line["type"] == kind for line in of.history])
        axes.plot(x[mine], np.array(of.evaluations("step_one"))[mine], "o", label=f"step one, {kind or 'spawn'}")
    axes.plot(x, of.evaluations("floor_step_one"), ":", color="tab:gray", label="of these, nobody can save")
    axes.set(xlabel="iteration", ylabel="fish", title="Deaths in the first step", ylim=(0, None))
    axes.legend(fontsize=8)
    return bool(of.history)


def death_histograms(of: Recorded, figure: Any) -> bool:
    """When fish died, one row per evaluation."""
    if not of.judged:
        return False
    edges = np.arange(0, of.step_limit + DEATH_BIN, DEATH_BIN)
    rows = [np.histogram(one.episodes["death_step"][one.episodes["death_step"] > 0], edges)[0] for one in of.judged]
    axes = figure.subplots()
    image = axes.imshow(np.stack(rows), aspect="auto", cmap="magma", extent=(0, edges[-1], len(rows), 0))
    axes.set_yticks(np.arange(len(rows)) + 0.5, [str(one.iteration) for one in of.judged], fontsize=7)
    axes.set(xlabel="step of death (bins of 25)", ylabel="evaluation at iteration", title="Deaths per evaluation")
    figure.colorbar(image, ax=axes, label="fish")
    return True


def gate_margins(of: Recorded, figure: Any) -> bool:
    """How far inside (above 0) or outside each limit was, as a share of the limit."""
    axes = figure.subplots()
    found: dict[str, list[tuple[int, float]]] = {}
    for decision in of.decisions:
        for test in decision["criteria"]:
            if test["margin"] is not None and test["threshold"]:
                name = f"{test['role']} {test['name']}"
                found.setdefault(name, []).append((decision["iteration"], test["margin"] / abs(test["threshold"])))
    for name, points in found.items():
        axes.plot(*zip(*points, strict=True), "o-", ms=3, label=name)
    axes.axhline(0, color="k", lw=0.8)
    axes.set(xlabel="iteration", ylabel="margin / limit", title="Gate margins (below 0: not passed)")
    axes.set_yscale("symlog", linthresh=1.0)
    axes.legend(fontsize=7)
    return bool(found)


DRAWN: dict[str, Callable[[Recorded, Any], bool]] = {
    "eval_timeline": timeline,
    "survival_curves": survival_curves,
    "first_death": first_death,
    "density_vs_first_death": density_and_first_death,
    "density_vs_entropy": density_and_entropy,
    "tail_warning": deck_left,
    "step_one_heading": step_one_polar,
    "step_one_by_type": step_one_by_type,
    "death_histograms": death_histograms,
    "gate_margins": gate_margins,
}


def _figure(size: tuple[float, float], dpi: int) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def moment(of: Recorded, evaluations: int) -> np.ndarray:
    """The timeline as it stood after so many evaluations, as pixels [height, width, 3]; the axis is the whole run's."""
    figure = _figure((7, 4), 80)
    last = of.evaluated_at[evaluations - 1]
    decisions = [decision for decision in of.decisions if decision["iteration"] <= last]
    timeline(of._replace(history=of.history[:evaluations], decisions=decisions), figure)
    figure.axes[0].set_xlim(0, 1.02 * of.evaluated_at[-1])
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[:, :, :3].copy()


def write_school_plots(folder: Path) -> list[Path]:
    """All plots a fish run has data for, as PNG files; none for any other run."""
    if not (folder / HISTORY).is_file():
        return []
    recorded, written = read_recorded(folder), []
    (folder / PLOTS).mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        figure = _figure((9, 5), 110)
        if draw(recorded, figure):
            figure.savefig(folder / PLOTS / f"{name}.png")
            written.append(folder / PLOTS / f"{name}.png")
    return written
