"""Which curves a report shows: the evaluation score, training episodes, the learner of every role, the machine."""

from __future__ import annotations

from itertools import chain

from holdfast.runs.metrics import DUEL_METRICS, METRICS, TIMINGS, Metric
from holdfast.views.report.axes import MOST_POINTS, STRETCHES, Span, short
from holdfast.views.report.chart import Chart, Level, Line, draw
from holdfast.views.report.markup import Html, element, joined, section
from holdfast.views.report.record import Record, Rows, is_number

SCORE_ENDS = ("evaluation.score", "evaluation.score_low", "evaluation.score_high")


def curves(record: Record) -> Html:
    """All chart sections; a run without a whole iteration has none."""
    if not record.metrics:
        return section("Curves", element("p", "No iteration is complete yet.", class_="none"))
    across = iterations_shown(record)
    parts = [
        _section("Evaluation", evaluation_charts(record, across)),
        _section("Self-play", duel_charts(record.metrics, across)),
        _section("Training episodes", episode_charts(record.metrics, across)),
        _section("Learner", *split_constant(learner_charts(record.metrics, across))),
        _section("Machine", machine_charts(record.timing, across)),
    ]
    return joined(*parts, _thinning_note(len(record.metrics)))


def _thinning_note(points: int) -> Html:
    if points <= MOST_POINTS:
        return joined()
    text = f"Training curves: each point is the mean of about {points // STRETCHES} iterations, the shade reaches from "
    return element("p", f"{text}their lowest to their highest.", class_="note")


def _section(title: str, charts: list[Chart], constant: list[Chart] | None = None) -> Html:
    if not charts and not constant:
        return joined()
    unchanged = [f"{chart.title} {short(line.y[0])}" for chart in constant or [] for line in chart.lines[:1]]
    note = element("p", f"The same throughout: {', '.join(unchanged)}.", class_="note") if unchanged else joined()
    return section(title, element("div", *(draw(chart) for chart in charts), class_="charts"), note)


def iterations_shown(record: Record) -> Span:
    numbers = [row["iteration"] for row in record.metrics]
    first, last = min(numbers), max(numbers)
    return Span(first, last) if first < last else Span(first - 1, last + 1)


def series(rows: Rows, column: str, name: str) -> Line:
    """The finite values of a column over the iterations."""
    points = [(row["iteration"], row[column]) for row in rows if is_number(row.get(column))]
    return Line(name, [x for x, _ in points], [y for _, y in points])


def meanings(metrics: tuple[Metric, ...] = (*METRICS, *TIMINGS)) -> dict[str, str]:
    """Unit and meaning of every metric by the last part of its name."""
    table = {}
    for metric in metrics:
        unit = "" if metric.unit in ("1", "count", "as the world says") else f" ({metric.unit})"
        table[metric.name.rpartition(".")[2]] = metric.meaning + unit
    return table


def evaluation_charts(record: Record, across: Span) -> list[Chart]:
    rows = [row for row in record.evaluations if all(is_number(row.get(end)) for end in SCORE_ENDS)]
    if not rows:
        return []
    x = [row["iteration"] for row in rows]
    learned = Line("learned", x, *([row[end] for row in rows] for end in SCORE_ENDS))
    levels = []
    name = "score"
    if record.yardsticks is not None:
        name = record.yardsticks.score_name
        levels = [Level(who, score.mean) for who, score in record.yardsticks.scores.items()]
    goal = record.config.get("run", {}).get("stop_score")
    if is_number(goal):
        levels.append(Level("goal", goal))
    meaning = "mean over the evaluation episodes with its 95 % interval, over iterations"
    return [Chart(f"evaluation score: {name}", meaning, across, [learned], levels, wide=True)]


def duel_charts(rows: Rows, across: Span) -> list[Chart]:
    """Wins of both roles in training, the level and the league; none for a run without self-play."""
    known, charts = meanings(DUEL_METRICS), []
    for statistic in ("rate", "steps", "pool", "rollbacks"):
        roles = [ending.split(".")[0] for ending in _endings(rows, "duel.") if ending.endswith(f".{statistic}")]
        drawn = [line for line in (series(rows, f"duel.{role}.{statistic}", role) for role in roles) if line.x]
        if drawn:
            charts.append(Chart(statistic, known[statistic], across, drawn))
    for column in ("duel.level", "duel.turn"):
        line = series(rows, column, column.rpartition(".")[2])
        if line.x and _endings(rows, "duel."):
            charts.append(Chart(line.name, known[line.name], across, [line]))
    return charts


def episode_charts(rows: Rows, across: Span) -> list[Chart]:
    """One chart per number of an episode: as trained, and as evaluated."""
    charts = []
    for column in _endings(rows, "episode."):
        lines = [series(rows, f"episode.{column}", "training"), series(rows, f"evaluation.{column}", "evaluation")]
        drawn = [line for line in lines if line.x]
        if drawn:
            charts.append(Chart(column, "mean over episodes", across, drawn))
    return charts


def learner_charts(rows: Rows, across: Span) -> list[Chart]:
    """One chart per statistic of the update, one line per role."""
    names = [ending.rpartition(".") for ending in _endings(rows, "learner.")]
    statistics = list(dict.fromkeys(statistic for _, _, statistic in names))
    known = meanings()
    charts = []
    for statistic in statistics:
        roles = [role for role, _, other in names if other == statistic]
        lines = [series(rows, f"learner.{role}.{statistic}", role) for role in roles]
        drawn = [line for line in lines if line.x]
        if drawn:
            charts.append(Chart(statistic, known.get(statistic, ""), across, drawn))
    return charts


def split_constant(charts: list[Chart]) -> tuple[list[Chart], list[Chart]]:
    """Charts worth drawing, and those whose every value is the same."""

    def is_constant(chart: Chart) -> bool:
        values = {value for line in chart.lines for value in line.y}
        return len(values) == 1 and len(chart.lines[0].y) > 1

    return [chart for chart in charts if not is_constant(chart)], [chart for chart in charts if is_constant(chart)]


def machine_charts(rows: Rows, across: Span) -> list[Chart]:
    known = meanings()
    lines = [series(rows, column, column) for column in ("agent_steps_per_s", "memory_mb")]
    return [Chart(line.name, known[line.name], across, [line], from_zero=True) for line in lines if line.x]


def _endings(rows: Rows, prefix: str) -> list[str]:
    """What follows the prefix in any row, in the order it first appears; late columns count as well."""
    found = dict.fromkeys(chain.from_iterable(rows))
    return [name.removeprefix(prefix) for name in found if name.startswith(prefix)]
