"""Options of earlier versions that are gone, so that their names are answered with what became of them.

A run of an earlier version wrote every option down. Those that had no effect there are dropped, so that it can still be
read; with any other value the run could not go on as it was, and the option is named.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Gone(NamedTuple):
    """What became of an option, or of one value of it."""

    version: str  # in which it was removed
    instead: str
    idle: Any = None  # the value with which it had no effect; None: it had an effect with any


LINEAGE = "response.anew trains whole pairs from other first weights"
PURSUERS = "its gain did not hold over seeds; league.size keeps earlier opponents"
POOL = "challengers join the pool only between rounds of the best-response test (response.rounds)"
FINISH = "duel.finish_share lets the first role learn alone at the end"

REMOVED: dict[str, Gone] = {
    "duel.generations": Gone("0.2.0", LINEAGE, 1),
    "duel.generation_share": Gone("0.2.0", LINEAGE, 0.0),
    "duel.partners": Gone("0.2.0", PURSUERS, 0),
    "duel.partner_share": Gone("0.2.0", PURSUERS, 0.6),
    "duel.sharpen_share": Gone("0.2.0", FINISH, 0.0),
    "duel.evader_waits": Gone("0.2.0", "duel.evader_lr slows the second role down by a fixed factor", 0.0),
    "league.challenge_every": Gone("0.2.0", POOL, 0),
    "league.challenge_steps": Gone("0.2.0", POOL, 1_500_000),
    "league.challenge_roles": Gone("0.2.0", POOL, "both"),
    "learner.entropy_schedule": Gone("0.2.0", "the entropy bonus falls linearly, see learner.entropy_share", "linear"),
}

REMOVED_VALUES: dict[tuple[str, str], Gone] = {
    ("learner.lr_schedule", "quadratic"): Gone("0.2.0", "use linear or cosine, and learner.lr_restart to settle twice"),
}


def what_became_of(key: str, value: Any) -> str | None:
    """Why an option, or this value of it, is no longer there; None if it never was or still is."""
    found = REMOVED.get(key)
    if found is not None:
        return f"{key} was removed in {found.version}: {found.instead}"
    found = REMOVED_VALUES.get((key, str(value)))
    return None if found is None else f"{key} = {value} was removed in {found.version}: {found.instead}"


def without_idle(table: dict[str, Any]) -> dict[str, Any]:
    """The options a run wrote down, without those that are gone and had no effect in it."""
    return {
        section: {key: value for key, value in content.items() if not _is_idle(f"{section}.{key}", value)}
        if isinstance(content, dict)
        else content
        for section, content in table.items()
    }


def _is_idle(key: str, value: Any) -> bool:
    found = REMOVED.get(key)
    return found is not None and found.idle is not None and value == found.idle
