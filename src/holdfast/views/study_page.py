"""The trials of a study as a section of its page."""

from __future__ import annotations

from holdfast.studies.options import word
from holdfast.studies.study import StudyTable
from holdfast.studies.trials import STATES
from holdfast.views.report.axes import short
from holdfast.views.report.markup import Html, element, section, table


def trials_section(found: StudyTable) -> Html:
    """One row per trial, and how many there are in each state."""
    counts = ", ".join(f"{found.count(state)} {state}" for state in STATES if found.count(state))
    rows = [
        [
            str(trial.trial),
            trial.target,
            " ".join(f"{name}={word(value)}" for name, value in trial.options.items()),
            trial.state,
            trial.reason,
            str(trial.seed),
            "" if trial.score is None else short(trial.score),
            f"{trial.elapsed_s:.0f} s",
        ]
        for trial in found.trials
    ]
    head = ["trial", "target", "options", "state", "", "seed", found.measure, "time"]
    return section("Trials", element("p", counts, class_="note"), table(head, rows, numeric=5))
