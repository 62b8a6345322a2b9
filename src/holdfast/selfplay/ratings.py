"""From a table of who beat whom to ratings, to the value of the game, and to how far it goes round in circles."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

ROUNDS = 20_000


def ratings(wins: np.ndarray, duels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strengths on Elo's scale of row players and column players (Bradley and Terry 1952); their mean is 0.

    `wins[i, j]` of `duels[i, j]` went to row i against column j. Half a win and half a loss are added to every cell
    that was played, so that a player who never lost stays finite. Found by the iteration of Hunter (2004).
    """
    played = duels > 0
    won, met = wins + 0.5 * played, duels + 1.0 * played
    rows, columns = np.ones(len(wins)), np.ones(wins.shape[1])
    for _ in range(ROUNDS):
        before = rows
        share = met / (rows[:, None] + columns[None, :])
        rows = won.sum(1) / share.sum(1)
        share = met / (rows[:, None] + columns[None, :])
        columns = (met - won).sum(0) / share.sum(0)
        scale = np.exp(np.mean(np.log(np.concatenate([rows, columns]))))
        rows, columns = rows / scale, columns / scale
        if np.abs(np.log(rows / before)).max() < 1e-9:
            break
    return 400.0 * np.log10(rows), 400.0 * np.log10(columns)


class Solution(NamedTuple):
    """An equilibrium of a zero-sum table."""

    value: float  # the row player's chance when both mix best
    rows: np.ndarray  # how the row player mixes
    columns: np.ndarray
    gap: float  # how far this solution may be from exact


def solve(rates: np.ndarray, rounds: int = ROUNDS) -> Solution:
    """Best mixtures of both sides, by regret matching with linear averaging (CFR+, Tammelin 2014) on the table."""
    row_regret, column_regret = np.zeros(len(rates)), np.zeros(rates.shape[1])
    row_sum, column_sum = np.zeros_like(row_regret), np.zeros_like(column_regret)
    for number in range(1, rounds + 1):
        row, column = _matched(row_regret), _matched(column_regret)
        gains, losses = rates @ column, row @ rates
        row_regret = np.maximum(row_regret + gains - row @ gains, 0.0)
        column_regret = np.maximum(column_regret + losses @ column - losses, 0.0)
        row_sum, column_sum = row_sum + number * row, column_sum + number * column
    row, column = row_sum / row_sum.sum(), column_sum / column_sum.sum()
    high, low = float((rates @ column).max()), float((row @ rates).min())
    return Solution((high + low) / 2, row, column, high - low)


def _matched(regret: np.ndarray) -> np.ndarray:
    total = regret.sum()
    return regret / total if total > 0 else np.full(len(regret), 1.0 / len(regret))


def restricted_gap(rates: np.ndarray, row: int, column: int) -> float:
    """What the best other player of the table gains against this pair: a lower bound of its exploitability."""
    now = rates[row, column]
    return float(max(rates[:, column].max() - now, now - rates[row].min(), 0.0))


def circular_share(rates: np.ndarray, margin: float = 0.0) -> float:
    """Share of row pairs and column pairs whose order turns round: i beats k better than j does, but not l."""
    turned = total = 0
    for i, j in combinations(range(len(rates)), 2):
        lead = rates[i] - rates[j]
        for k, m in combinations(range(rates.shape[1]), 2):
            total += 1
            turned += (lead[k] > margin and lead[m] < -margin) or (lead[k] < -margin and lead[m] > margin)
    return turned / total if total else 0.0
