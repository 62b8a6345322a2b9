"""`import holdfast as hf`: light, complete, typed, and documented by examples that run."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast as hf

ROOT = Path(__file__).parents[2]
DOCUMENTED = ("training", "runs", "policies", "worlds")
LIGHT = """
import sys, time
begun = time.process_time()
import holdfast as hf
spent = time.process_time() - begun
heavy = {"torch", "numpy", "numba", "gymnasium", "pyarrow", "rich"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
assert spent < 0.1, spent
assert "train" in dir(hf) and issubclass(hf.ConfigError, hf.HoldfastError)
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_importing_it_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", hf.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(hf, name) is not None


def test_type_checkers_see_every_name_where_it_comes_from() -> None:
    tree = ast.parse(Path(hf.__file__).read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen = {
        alias.asname: (node.module, alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == hf.PLACES


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'holdfast' has no attribute 'trian'"):
        _ = hf.trian


def test_the_module_of_the_loop_does_not_hide_the_function_of_its_name() -> None:
    importlib.reload(importlib.import_module("holdfast.train"))
    del sys.modules["holdfast.train"]
    importlib.import_module("holdfast.train")
    assert hf.train.__module__ == "holdfast.api.training"


@pytest.mark.parametrize("module", DOCUMENTED)
def test_examples_in_docstrings_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = doctest.DocTestFinder().find(importlib.import_module(f"holdfast.api.{module}"))
    examples = [one for one in found if one.examples]
    assert examples
    for number, one in enumerate(examples):  # each in a folder of its own, whose first run it makes
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        assert doctest.DocTestRunner().run(one).failed == 0


def blocks_of(page: Path) -> Iterator[str]:
    yield from re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_the_page_about_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block by block in one program; a block that begins with the name of a file is that file."""
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {}
    for block in blocks_of(ROOT / "docs" / "api.md"):
        first = re.match(r"# (\w+\.py)\n", block)
        if first:
            (tmp_path / first[1]).write_text(block)
        else:
            exec(compile(block, "docs/api.md", "exec"), names)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_use_nothing_else_of_the_package(path: Path) -> None:
    """None reaches into a module of it."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    imported = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    imported += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    assert [name for name in imported if name.startswith("holdfast")] == ["holdfast"]
