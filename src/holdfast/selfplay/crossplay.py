"""Who beats whom: milestones of runs and scripts against each other, as a matrix with what follows from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from holdfast.config.sections import Config
from holdfast.kit.errors import CheckpointError, ConfigError
from holdfast.rollout.evaluate import evaluation_keys
from holdfast.rollout.seat import below
from holdfast.runs.checkpoint import Saved
from holdfast.runs.renew import renewed
from holdfast.selfplay.book import Book
from holdfast.selfplay.judging import make_ground, panel_names
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.matches import Contender, frozen, play_matches, script, wins_of_first
from holdfast.selfplay.ratings import circular_share, ratings, restricted_gap, solve
from holdfast.selfplay.vault import Vault
from holdfast.worlds.registry import make_world

CROSSPLAY_SEEDS = 5  # block of evaluation seeds


class Gallery(NamedTuple):
    """Frozen players of both roles, by readable names, with the level they are met at."""

    first: list[tuple[str, Contender]]
    second: list[tuple[str, Contender]]
    level: int


def read_book(saved: Saved) -> tuple[Book, Vault]:
    """What a checkpoint of self-play remembers, and its frozen policies, each checked against its hash."""
    arrays, facts = renewed(saved.arrays, saved.facts)
    kept = facts.get("curriculum", {}).get("book")
    if kept is None:
        raise CheckpointError(f"checkpoint {saved.name} is not one of self-play: train with duel.mode first")
    vault = Vault()
    vault.restore(below(arrays, "curriculum/vault/"))
    return Book.from_json(kept), vault


def gallery_of(run_name: str, saved: Saved) -> Gallery:
    """The milestones of a run, oldest first."""
    book, vault = read_book(saved)
    sides: list[list[tuple[str, Contender]]] = []
    for side in book.sides:
        kept = {milestone.hash: milestone for milestone in side.milestones}
        sides.append([(f"{run_name}@{m.iteration}", frozen(m.hash, vault.take(m.hash))) for m in kept.values()])
    if not sides[0] or not sides[1]:
        raise CheckpointError(f"run {run_name} has no milestones yet: they are kept at its evaluations")
    return Gallery(sides[0], sides[1], book.standing.level)


class Crossplay(NamedTuple):
    """The matrix: wins of row players (first role) against column players (second role)."""

    rows: list[str]
    columns: list[str]
    wins: np.ndarray
    duels: int

    @property
    def rates(self) -> np.ndarray:
        return self.wins / self.duels

    def facts(self, learned: tuple[int, int]) -> dict[str, Any]:
        """`learned`: how many rows and columns are learned; the newest pair is the last of them."""
        solution = solve(self.rates, rounds=4000)
        strong, weak = ratings(self.wins, np.full(self.wins.shape, float(self.duels)))
        return {
            "rows": self.rows,
            "columns": self.columns,
            "rates": self.rates.round(4).tolist(),
            "duels": self.duels,
            "value": solution.value,
            "row_mixture": dict(zip(self.rows, solution.rows.round(3).tolist(), strict=True)),
            "column_mixture": dict(zip(self.columns, solution.columns.round(3).tolist(), strict=True)),
            "row_ratings": dict(zip(self.rows, strong.round(0).tolist(), strict=True)),
            "column_ratings": dict(zip(self.columns, weak.round(0).tolist(), strict=True)),
            "circular_share": float(circular_share(self.rates, margin=0.05)),
            "newest_gap_at_least": restricted_gap(self.rates, learned[0] - 1, learned[1] - 1),
        }


def crossplay(config: Config, galleries: list[Gallery], duels: int) -> tuple[Crossplay, tuple[int, int]]:
    """Everybody against everybody at the highest level reached, on seeds of their own."""
    if duels < 1:
        raise ConfigError([f"--duels {duels}: must be at least 1"])
    world = make_world(config.world_name, config.evaluation_world, 1, seed=0)
    ladder = Ladder(config, world.spec)
    scripts = panel_names(world)
    world.close()
    level = min(max(gallery.level for gallery in galleries), ladder.top)
    first = [one for gallery in galleries for one in gallery.first]
    second = [one for gallery in galleries for one in gallery.second]
    learned = (len(first), len(second))
    first += [(name, script(name)) for name in scripts[0]]
    second += [(name, script(name)) for name in scripts[1]]
    ground = make_ground(config, ladder.spec, ladder.table(level, ladder.final_sight), config.evaluation.seed % 2**31)
    roles = (ladder.spec.roles[0].name, ladder.spec.roles[1].name)
    pairs = [(i, j) for i in range(len(first)) for j in range(len(second))]
    keys = evaluation_keys(config.evaluation.seed, CROSSPLAY_SEEDS, duels)
    tables = play_matches(ground, [one for _, one in first], [one for _, one in second], pairs, keys)
    wins = np.array([int(wins_of_first(table, roles).sum()) for table in tables], float)
    found = Crossplay([n for n, _ in first], [n for n, _ in second], wins.reshape(len(first), len(second)), duels)
    return found, learned


def draw_matrix(found: Crossplay, roles: tuple[str, str], path: Path) -> Path:
    """The matrix as a picture: blue where the row wins, red where the column does."""
    from matplotlib.figure import Figure

    size = (2.5 + 0.62 * len(found.columns), 1.8 + 0.42 * len(found.rows))
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.imshow(found.rates, cmap="RdBu", vmin=0.0, vmax=1.0, aspect="auto")
    for i, row in enumerate(found.rates):
        for j, rate in enumerate(row):
            axes.text(
                j, i, f"{rate:.2f}", ha="center", va="center", fontsize=7, color="w" if abs(rate - 0.5) > 0.3 else "k"
            )
    axes.set_xticks(range(len(found.columns)), found.columns, rotation=45, ha="right", fontsize=7)
    axes.set_yticks(range(len(found.rows)), found.rows, fontsize=7)
    axes.set_xlabel(roles[1])
    axes.set_ylabel(roles[0])
    axes.set_title(f"wins of the {roles[0]}, {found.duels} duels per cell", fontsize=9)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    return path
