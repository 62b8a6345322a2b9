"""The plan of the house, held by reading the sources: who may import whom, and that the core knows no game."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "holdfast"
GAMES = ("fish", "mario", "pursuit")
TABLE = "holdfast.worlds.ours"  # the one module that names them
SHELLS = ("holdfast.cli.words", "holdfast.views.completion")  # fish is a shell there
FLOORS = (  # each may import those before it, and its own
    ("kit",),
    ("config", "worlds", "learner", "curriculum", "rollout", "selfplay", "state", "runs"),
    ("nes",),
    ("run",),
    ("train", "rehearsal"),
    ("studies", "views", "bench", "api"),
    ("cli",),
)
# What reaches upwards today, by the floors' finer order; a list that may only get shorter.
ORDER = ("kit", "worlds", "learner", "rollout", "curriculum", "selfplay", "runs")
UPWARDS = {("curriculum", "runs"): 0, ("worlds", "learner"): 0, ("learner", "rollout"): 0, ("rollout", "curriculum"): 0}


class Import(NamedTuple):
    """One import, wherever in a module it stands."""

    where: str
    what: str


@cache
def trees() -> dict[str, ast.Module]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def for_types_only(tree: ast.Module) -> set[int]:
    """Imports below `if TYPE_CHECKING`, which never run."""
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    return {id(inner) for block in blocks for inner in ast.walk(block)}


@cache
def imports() -> tuple[Import, ...]:
    """All imports of our own modules, lazy ones included."""

    def of(name: str, tree: ast.Module) -> Iterator[Import]:
        idle = for_types_only(tree)
        for node in ast.walk(tree):
            if id(node) in idle:
                continue
            if isinstance(node, ast.ImportFrom) and node.module:
                yield Import(name, node.module)
            elif isinstance(node, ast.Import):
                yield from (Import(name, alias.name) for alias in node.names)

    return tuple(one for name, tree in trees().items() for one in of(name, tree) if one.what.startswith("holdfast"))


def floor_of(module: str) -> int | None:
    part = module.removeprefix("holdfast.").partition(".")[0]
    return next((number for number, rooms in enumerate(FLOORS) if part in rooms), None)


def is_core(module: str) -> bool:
    return not module.startswith(("holdfast.games", "holdfast.nes"))


def test_the_core_imports_no_game() -> None:
    assert [one for one in imports() if is_core(one.where) and one.what.startswith("holdfast.games")] == []


def test_the_core_names_no_game() -> None:
    """Not as a text, which is how one compares; the table of worlds and the shell of that name are left out."""
    named = []
    for module, tree in trees().items():
        if not is_core(module) or module in (TABLE, *SHELLS):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in GAMES:
                named.append((module, node.lineno, node.value))
    assert named == []


def test_the_console_stands_on_the_kit_alone() -> None:
    own = ("holdfast.nes", "holdfast.kit")
    assert [one for one in imports() if one.where.startswith("holdfast.nes") and not one.what.startswith(own)] == []


def test_games_do_not_know_each_other() -> None:
    strangers = [
        one
        for one in imports()
        for game in GAMES
        if one.where.startswith(f"holdfast.games.{game}.")
        and any(one.what.startswith(f"holdfast.games.{other}") for other in GAMES if other != game)
    ]
    assert strangers == []


def test_arrows_point_one_way() -> None:
    upwards = []
    for one in imports():
        here, there = floor_of(one.where), floor_of(one.what)
        if here is not None and there is not None and there > here:
            upwards.append(one)
    assert upwards == []


@pytest.mark.parametrize(("low", "high"), list(UPWARDS))
def test_these_rooms_never_reach_up(low: str, high: str) -> None:
    reaching = [
        one
        for one in imports()
        if one.where.startswith(f"holdfast.{low}.") and one.what.startswith(f"holdfast.{high}.")
    ]
    assert len(reaching) == UPWARDS[low, high], reaching


def test_the_loop_is_short_and_nothing_subclasses_it() -> None:
    lines = (PACKAGE / "train.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    loops = [
        (module, node.name)
        for module, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Run") for base in node.bases)
    ]
    assert loops == []
