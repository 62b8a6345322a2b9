"""Every reader takes edited files with right checksums, or refuses them by name: the benchmark's fuzzers, in short."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.kit.errors import HoldfastError

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
COUNTS = {
    "description": 40,
    "checkpoint": 60,
    "checkpoint-replay": 25,
    "checkpoint-gym": 40,
    "deck": 15,
    "policy": 25,
    "preset": 20,
    "grammar": 60,
    "stream": 60,
    "rom": 60,
}
SEED = 2  # other inputs than those of the benchmark


@pytest.mark.parametrize("name", COUNTS)
def test_edited_files_are_loaded_or_refused_by_name(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from fuzz.readers import READERS

    reader, found = READERS[name](tmp_path), {"loaded": 0, "refused": 0}
    for number in range(COUNTS[name]):
        try:
            reader.read(random.Random(f"{SEED} {name} {number}"))
            found["loaded"] += 1
        except HoldfastError as error:
            assert str(error)
            found["refused"] += 1
    assert found["loaded"] and (found["refused"] or name == "stream"), found  # the fuzzer reaches both


def test_the_fuzzer_notices_what_has_no_name_and_what_ends_the_process(tmp_path: Path) -> None:
    program = f"""
import os, sys
sys.path.insert(0, {str(BENCHMARKS)!r})
import fuzz_readers
from fuzz.readers import READERS, Reader
class Broken(Reader):
    def read(self, chance):
        number = chance.random()
        if number < 0.3: raise ValueError("no name")
        if number < 0.4: os._exit(139)
READERS["broken"] = Broken
if "--child" in sys.argv: sys.exit(fuzz_readers.main())
fuzz_readers.__file__ = __file__
found, kept = fuzz_readers.run("broken", 1, 40, 60.0)
print(dict(found))
assert found["nameless"] > 3 and found["crashed"] > 0 and found["loaded"] > 10, found
assert sum(found.values()) == 40, found
"""
    path = tmp_path / "broken_reader.py"
    path.write_text(program)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
