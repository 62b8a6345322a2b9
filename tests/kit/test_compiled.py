"""The kernel cache is keyed by everything a kernel is made of."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

from holdfast.kit import compiled, rng
from holdfast.worlds.template import rules

MODULE = """
from holdfast.kit.compiled import kernel
from {folder}.inner import constant
@kernel
def answer():
    return constant()
"""


def test_a_kernel_file_brings_all_it_imports() -> None:
    files = {path.name for path in compiled.kernel_sources(Path(rules.__file__))}
    assert {"rules.py", "lanes.py", "rng.py", "compiled.py"} <= files
    assert "world.py" not in files
    assert compiled.kernel_sources(Path(rng.__file__)) != compiled.kernel_sources(Path(rules.__file__))


def test_imports_are_found_as_python_finds_them() -> None:
    for path in compiled.PACKAGE.rglob("*.py"):
        modules: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        places = [compiled.PACKAGE.parent.joinpath(*module.split(".")) for module in modules]
        files = {file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")}
        assert {file for file in files if file.is_file()} <= compiled.imported_files(path), path


def test_a_change_in_a_called_function_is_never_answered_from_a_stale_cache(tmp_path: Path) -> None:
    """The failure this cache exists for: Numba's own index looks only at the calling function's file."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "outer.py").write_text(MODULE.format(folder="mine"))
    answers = []
    for constant in (1, 2):
        (folder / "inner.py").write_text(
            f"from holdfast.kit.compiled import kernel\n@kernel\ndef constant():\n    return {constant}\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", "from mine.outer import answer; print(answer())"],
            cwd=tmp_path,
            env={**os.environ, "HOLDFAST_CACHE": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(int(done.stdout))
    assert answers == [1, 2]


def test_an_unwritable_cache_falls_back_to_a_temporary_one(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = subprocess.run(
        [sys.executable, "-c", "from holdfast.kit import rng; import numpy; print(rng.uniform(numpy.uint64(1), 0, 0))"],
        env={**os.environ, "HOLDFAST_CACHE": str(blocked)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 0.0 <= float(done.stdout) < 1.0


def test_of_two_processes_one_compiles_and_the_other_waits(tmp_path: Path) -> None:
    script = "from holdfast.kit.compiled import announced\nimport sys, time\n"
    script += "with announced('slow', sys.argv[1]): time.sleep(1.5)\n"
    source = tmp_path / "slow.py"
    source.write_text("x = 1\n")
    call = [sys.executable, "-c", script, str(source)]
    env = {**os.environ, "HOLDFAST_CACHE": str(tmp_path / "cache")}
    both = [subprocess.Popen(call, env=env, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    told = sorted(one.communicate(timeout=60)[1] for one in both)
    assert [one.returncode for one in both] == [0, 0]
    assert "waiting" in told[0] and "compiled" not in told[0]
    assert told[1].startswith("compiling the slow kernels") and "compiled the slow kernels in" in told[1]


CALL = "from holdfast.kit import rng; import numpy; print(rng.uniform(numpy.uint64(1), 0, 0))"


def _run_from(sources: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOLDFAST_CACHE": str(cache), "PYTHONPATH": str(sources)}
    return subprocess.run([sys.executable, "-c", CALL], env=env, capture_output=True, text=True, check=True)


def test_two_copies_of_the_sources_share_compiled_kernels(tmp_path: Path) -> None:
    copy = tmp_path / "src"
    shutil.copytree(compiled.PACKAGE, copy / "holdfast", ignore=shutil.ignore_patterns("__pycache__"))
    first = _run_from(compiled.PACKAGE.parent, tmp_path / "cache")
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.nb?")}
    second = _run_from(copy, tmp_path / "cache")
    assert first.stdout == second.stdout and kept
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.nb?")} == kept


def test_a_damaged_kernel_is_compiled_again_and_kept(tmp_path: Path) -> None:
    first = _run_from(compiled.PACKAGE.parent, tmp_path)
    for path in tmp_path.rglob("*.nbc"):
        path.write_bytes(path.read_bytes()[:100])
    mended = _run_from(compiled.PACKAGE.parent, tmp_path)
    assert mended.stdout == first.stdout and "damaged" in mended.stderr and "Traceback" not in mended.stderr
    assert _run_from(compiled.PACKAGE.parent, tmp_path).stderr == ""
