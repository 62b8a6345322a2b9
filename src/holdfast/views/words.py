"""Numbers of a run in a few words, for every view that has only a line for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.kit.intervals import wilson

if TYPE_CHECKING:  # the loop brings torch along, which a line of words does not need
    from holdfast.runs.watch import DuelProgress, RoleProgress


def visible(text: object) -> str:
    """Text from a file without what a terminal would obey: escape sequences and other control characters."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in str(text))


def shares_line(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:.0f}%" for name, share in shares.items() if share >= 0.005)


def key_numbers(metrics: Mapping[str, float | int]) -> str:
    """Episode means and entropies, the numbers one looks at first."""
    wanted = [name for name in metrics if name.startswith("episode.") or name.endswith(".entropy")]
    return ", ".join(f"{name.removeprefix('episode.').removeprefix('learner.')} {metrics[name]:.3g}" for name in wanted)


def wins_of(role: RoleProgress) -> str:
    """Its share of wins against the newest opponent, with the interval."""
    if role.duels == 0:
        return "no duel ended yet"
    low, high = wilson(role.wins, role.duels)
    return f"{role.wins / role.duels:.2f} [{low:.2f}, {high:.2f}]"


def duel_line(duel: DuelProgress) -> str:
    """Where self-play stands."""
    roles = [
        f"{role.name}{'*' if role.learns else ''} wins {wins_of(role)}, pool {role.pool}, "
        f"{role.rollbacks} rollbacks, {role.condition}"
        for role in duel.roles
    ]
    return f"turn {duel.turn} ({duel.stage}), level {duel.level}: " + "; ".join(roles)
