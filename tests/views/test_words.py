"""A run in a line: who wins how often in self-play, with the interval, beside pool, rollbacks and health."""

from __future__ import annotations

from rich.console import Console

from holdfast.runs.watch import DuelProgress, RoleProgress
from holdfast.views.terminal import roles_table
from holdfast.views.words import duel_line

DUEL = DuelProgress(
    turn=7,
    stage="play",
    level="2 of 13 (2-6 m, no circles)",
    roles=(
        RoleProgress("pursuer", True, 50, 100, 65536, 3, 0, "well"),
        RoleProgress("evader", False, 0, 0, 0, 0, 2, "stuck"),
    ),
)


def test_self_play_is_told_with_intervals_level_pool_and_health() -> None:
    line = duel_line(DUEL)
    assert line.startswith("turn 7 (play), level 2 of 13 (2-6 m, no circles): ")
    assert "pursuer* wins 0.50 [0.40, 0.60], pool 3, 0 rollbacks, well" in line
    assert "evader wins no duel ended yet, pool 0, 2 rollbacks, stuck" in line


def test_the_live_table_has_a_row_for_each_role() -> None:
    console = Console(width=100, record=True, quiet=True)
    with console.capture() as captured:
        console.quiet = False
        console.print(roles_table(DUEL))
    text = captured.get()
    assert "pursuer *" in text and "65,536" in text and "0.50 [0.40, 0.60]" in text and "stuck" in text
