"""Golden bytes: does a change of the code leave every byte of small runs of every kind as it was?

python benchmarks/golden.py record TREE OUT [--only KIND,…] [--jobs N]   run every kind with TREE's sources
python benchmarks/golden.py compare A B [--names MAP.toml]               two records; status 1 if they differ
python benchmarks/golden.py between COMMIT1 COMMIT2 [--names MAP.toml]   both, in worktrees of its own

"." is the working tree as it is now. The map of names (golden_names.toml) says what moved on purpose. The kinds are in
golden_bytes/kinds.py. Records can be compared on one machine only, with the same packages.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from golden_bytes.compare import all_equal, compare_kind, compare_records, table
from golden_bytes.kinds import KINDS
from golden_bytes.names import Names, read_names
from golden_bytes.runs import GoldenError, open_tree, run_kind

NAMES = Path(__file__).with_name("golden_names.toml")
RESUMED = ("arrays", "metrics", "events", "evals")  # what an interrupted run shares with an uninterrupted one


def main() -> int:
    arguments = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by way of all that cleans up
    try:
        names = read_names(arguments.names)
        if arguments.verb == "record":
            return record(arguments.tree, arguments.out, names, chosen(arguments.only), arguments.jobs)
        if arguments.verb == "compare":
            return compare(arguments.a, arguments.b, names)
        return between(arguments.commit1, arguments.commit2, names, chosen(arguments.only), arguments.jobs)
    except (GoldenError, OSError, ValueError) as error:
        print(f"golden: {error}", file=sys.stderr)
        return 2


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, places in (("record", ("tree", "out")), ("compare", ("a", "b")), ("between", ("commit1", "commit2"))):
        one = verbs.add_parser(verb)
        for place in places:
            one.add_argument(place, type=str if verb == "between" else Path)
        one.add_argument("--names", type=Path, default=NAMES, help="the map of names (default: golden_names.toml)")
        if verb != "compare":
            one.add_argument("--only", default="", metavar="KIND,…", help=f"of {', '.join(KINDS)}")
            one.add_argument("--jobs", type=int, default=2, metavar="N", help="runs at once (default 2)")
    return parser.parse_args()


def chosen(only: str) -> list[str]:
    kinds = [kind for kind in only.split(",") if kind] or list(KINDS)
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(f"no kind {', '.join(unknown)}; there are {', '.join(KINDS)}")
    return kinds


def record(tree: Path, out: Path, names: Names, kinds: list[str], jobs: int) -> int:
    """Run the kinds and keep their records; status 1 if one failed or a resumed run is not what it should be."""
    out.mkdir(parents=True, exist_ok=True)
    begun, failed = time.monotonic(), []
    for kind in kinds:
        (out / f"{kind}.json").unlink(missing_ok=True)  # of an earlier record: a kind that fails has none
    for kind, found in run_all(tree, names, kinds, jobs):
        if isinstance(found, GoldenError):
            failed.append(str(found))
            continue
        (out / f"{kind}.json").write_text(json.dumps(found, indent=0, sort_keys=False) + "\n")
        print(f"{kind}: {found['elapsed_s']} s", file=sys.stderr, flush=True)
    failed += [line for kind in kinds if KINDS[kind].like for line in unlike(out, kind, KINDS[kind].like)]
    for line in failed:
        print(line, file=sys.stderr)
    print(f"{len(kinds)} kinds in {time.monotonic() - begun:.0f} s: {out}", file=sys.stderr)
    return 1 if failed else 0


def run_all(
    tree: Path, names: Names, kinds: list[str], jobs: int
) -> Iterator[tuple[str, dict[str, Any] | GoldenError]]:
    """The record of each kind in turn, or why it has none. Stopped in between, nothing goes on or stays behind."""
    with (
        tempfile.TemporaryDirectory(prefix="golden-") as work,
        ThreadPoolExecutor(jobs) as pool,
        open_tree(tree, Path(work) / "work", names, min(jobs, len(kinds))) as opened,
    ):
        waiting = {kind: pool.submit(run_kind, opened, kind) for kind in kinds}
        try:
            for kind, future in waiting.items():
                error = future.exception()
                if error is not None and not isinstance(error, GoldenError):
                    raise error
                yield kind, error or future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def unlike(out: Path, kind: str, whole: str) -> list[str]:
    """What a resumed run has otherwise than the uninterrupted one."""
    if not (out / f"{kind}.json").is_file() or not (out / f"{whole}.json").is_file():
        return []
    resumed, uninterrupted = (json.loads((out / f"{name}.json").read_text()) for name in (kind, whole))
    kinds = {event["event"] for event in resumed["events"]}
    uninterrupted["asked"] = resumed["asked"]
    uninterrupted["evals"].get("yardsticks", {}).pop("iteration", None)
    uninterrupted["events"] = [event for event in uninterrupted["events"] if event["event"] in kinds]
    found = compare_kind(uninterrupted, resumed, Names())
    return [f"{kind} is not like {whole}: {part}: {line}" for part in RESUMED for line in found[part].differences[:3]]


def compare(old: Path, new: Path, names: Names) -> int:
    found, missing = compare_records(old, new, names)
    if not found:
        raise ValueError(f"{old} and {new} have no kind in common")
    print("\n".join([table(found), *missing]))
    same = all_equal(found)
    print("equal" if same else "NOT equal")
    return 0 if same else 1


def between(first: str, second: str, names: Names, kinds: list[str], jobs: int) -> int:
    with tempfile.TemporaryDirectory(prefix="golden-") as place:
        outs = [Path(place) / "old", Path(place) / "new"]
        for commit, out in zip((first, second), outs, strict=True):
            with checked_out(commit, Path(place) / f"tree-{out.name}") as tree:
                if record(tree, out, names, kinds, jobs):
                    return 1
        return compare(outs[0], outs[1], names)


@contextmanager
def checked_out(commit: str, place: Path) -> Iterator[Path]:
    """A worktree of a commit for as long as it is needed; "." is the working tree itself, a folder is that folder."""
    here = Path(__file__).resolve().parents[1]
    if commit == "." or (Path(commit) / "src" / "holdfast").is_dir():
        yield here if commit == "." else Path(commit)
        return
    git("worktree", "add", "--detach", str(place), commit, where=here)
    try:
        yield place
    finally:
        git("worktree", "remove", "--force", str(place), where=here)


def git(*words: str, where: Path) -> Any:
    done = subprocess.run(["git", *words], cwd=where, capture_output=True, text=True)
    if done.returncode:
        raise GoldenError(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
