"""Feed edited files to every reader: mutated by structure, with checksums computed again, so that nothing but the
readers' own checks stands between an input and the program.

    python benchmarks/fuzz_readers.py [--inputs 2000] [--readers description,checkpoint] [--seed 1]
    python benchmarks/fuzz_readers.py --again checkpoint:1234        # one input, with its traceback

Each input is a function of (seed, reader, number). An input is "loaded" (and used for a step), or "refused" by an error
of ours; anything else is "nameless", and an input that ends the process is "crashed". Counts are added to
`results/fuzz_readers.json`, with the commit and machine; the parent goes on after a crash.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzz.readers import READERS, Reader
from fuzz.table import about, add_rows

RESULTS = Path(__file__).parent / "results" / "fuzz_readers.json"
KEPT = 20  # nameless inputs whose traceback is kept


def outcome(reader: Reader, chance: random.Random) -> str:
    from holdfast.kit.errors import HoldfastError

    try:
        reader.read(chance)
    except HoldfastError as error:
        return "refused" if str(error) else "nameless: an error without a text"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"nameless: {type(error).__name__}: {str(error)[:100]} at {Path(last.filename).name}:{last.lineno}"
    return "loaded"


def child(name: str, seed: int, first: int, last: int) -> None:
    """Inputs of one reader, one line each; the number is written first, so that a crash says where it was."""
    with tempfile.TemporaryDirectory() as place:
        reader = READERS[name](Path(place))
        for number in range(first, last):
            sys.stdout.write(f"{number} ")
            sys.stdout.flush()
            sys.stdout.write(outcome(reader, random.Random(f"{seed} {name} {number}")).replace("\n", " ") + "\n")


def run(name: str, seed: int, count: int, patience_s: float) -> tuple[Counter[str], list[str]]:
    found, kept, first = Counter[str](), list[str](), 0
    while first < count:
        words = [sys.executable, __file__, "--child", f"{name}:{seed}:{first}:{count}"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=patience_s)
            output, ending = done.stdout, f"ended with {done.returncode}: {done.stderr.strip()[-300:]}"
        except subprocess.TimeoutExpired as error:
            output, ending = (error.stdout or b"").decode(), "did not end"
        lines = output.split("\n")
        for line in lines:
            number, _, text = line.partition(" ")
            if text:
                found[text.partition(":")[0]] += 1
                first = int(number) + 1
                if text.startswith("nameless") and len(kept) < KEPT:
                    kept.append(f"{name}:{number} {text}")
        if first < count:
            found["crashed"] += 1
            kept.append(f"{name}:{first} crashed: {ending}")
            first += 1
    return found, kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=2000, help="per reader")
    parser.add_argument("--readers", default=",".join(READERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience_s", type=float, default=3600.0)
    parser.add_argument("--again", help="READER:NUMBER, with its traceback")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        name, seed, first, last = given.child.split(":")
        child(name, int(seed), int(first), int(last))
        return 0
    if given.again:
        name, _, number = given.again.partition(":")
        with tempfile.TemporaryDirectory() as place:
            READERS[name](Path(place)).read(random.Random(f"{given.seed} {name} {number}"))
        print("loaded")
        return 0
    bad = 0
    for name in given.readers.split(","):
        started = time.perf_counter()
        found, kept = run(name, given.seed, given.inputs, given.patience_s)
        counts = {kind: found.get(kind, 0) for kind in ("loaded", "refused", "nameless", "crashed")}
        row = {"reader": name, "inputs": given.inputs, "seed": given.seed, **counts}
        row |= {"seconds": round(time.perf_counter() - started, 1), "examples": kept, **about()}
        add_rows(RESULTS, [row], ("reader", "seed"))
        print(json.dumps({key: row[key] for key in ("reader", "inputs", *counts, "seconds")}), flush=True)
        print("\n".join(f"  {text}" for text in kept), flush=True)
        bad += counts["nameless"] + counts["crashed"]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
