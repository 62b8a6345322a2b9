"""Proves that a world keeps the contract of `worlds.api`; the text of a failed proof says what was seen and where.

One list of proofs for every world, ours, yours or a foreign one: `check_world("my_module:MyWorld")`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from holdfast.kit.errors import SnapshotUnsupported
from holdfast.worlds.check.episodes import bounds_hold, dead_agents_rest, episodes_end, flags_are_true, numbers_add_up
from holdfast.worlds.check.lasting import lanes_are_independent, lanes_load, lanes_load_exactly, world_is_restored
from holdfast.worlds.check.plain import plain_python_agrees
from holdfast.worlds.check.repeated import seed_matters, seed_repeats, threads_agree
from holdfast.worlds.check.strange import strange_rows_are_refused
from holdfast.worlds.check.subject import Broken, NotApplicable, Subject
from holdfast.worlds.check.surface import begins, buffers_stay, level_is_obeyed, picture_is_drawn
from holdfast.worlds.trust import name_world

__all__ = ["PROOFS", "Proof", "check_world"]


class Proof(NamedTuple):
    """One promise of the contract, and whether the world kept it."""

    name: str
    passed: bool
    detail: str


PROOFS: dict[str, Callable[[Subject], str]] = {
    "a world is made": begins,
    "same seed, same bytes": seed_repeats,
    "another seed, other bytes": seed_matters,
    "a saved lane has the same future in another lane": lanes_load,
    "a lane loaded exactly has the same future past its end": lanes_load_exactly,
    "a restored world has the same future": world_is_restored,
    "a batch is its single lanes": lanes_are_independent,
    "one thread is two threads": threads_agree,
    "compiled is plain Python": plain_python_agrees,
    "bounds hold": bounds_hold,
    "episodes end": episodes_end,
    "flags and finished() are true": flags_are_true,
    "dead agents see and earn nothing": dead_agents_rest,
    "lengths and returns add up": numbers_add_up,
    "buffers stay where they are": buffers_stay,
    "a lane can be drawn": picture_is_drawn,
    "out-of-range rows are refused": strange_rows_are_refused,
    "a level is obeyed or refused": level_is_obeyed,
}


def check_world(
    name: str,
    options: dict[str, Any] | None = None,
    lanes: int = 8,
    steps: int = 200,
    seed: int = 7,
    plain: bool = True,
) -> list[Proof]:
    """All proofs on one world with random actions; `plain` = False leaves out those in processes of their own."""
    name_world(name)
    subject = Subject(name, options or {}, lanes, steps, seed)
    proofs: list[Proof] = []
    for title, proof in PROOFS.items():
        if plain or proof not in (plain_python_agrees, strange_rows_are_refused):
            proofs.append(_prove(title, proof, subject))
        if not proofs[0].passed:
            break  # the others would all say the same
    return proofs


def _prove(title: str, proof: Callable[[Subject], str], subject: Subject) -> Proof:
    try:
        return Proof(title, True, proof(subject))
    except Broken as broken:
        return Proof(title, False, str(broken))
    except (NotApplicable, SnapshotUnsupported) as reason:
        return Proof(title, True, f"not applicable: {reason}")
    except Exception as error:  # the edge of the checker: whatever a world raises is the answer it came for
        return Proof(title, False, f"raised {type(error).__name__}: {error}")
    finally:
        subject.close()
