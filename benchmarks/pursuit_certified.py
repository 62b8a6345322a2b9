"""The preset `pursuit` over seeds, each with its best-response test, in pieces: what is finished is not run again.

    python benchmarks/pursuit_certified.py RUNS --seeds 1-10
    python benchmarks/pursuit_certified.py RUNS --seeds 1-10 --set world.recall=true --results FOLDER
    python benchmarks/pursuit_certified.py RUNS --seeds 1,2 --power
    python benchmarks/pursuit_certified.py RUNS --seeds 1-10 --table

Each seed is trained to its end; its last pair is then put to four challengers that learn as long as the roles did: for
each role one from the role's weights and one from scratch. A seed whose first gap is too wide is not tried further, and
that challenger stops once the gap is certain. One file per seed in benchmarks/results/pursuit_certified, written after
every challenger, so two processes may share the seeds; beside it the pair itself, so that anybody can go on challenging
it without training it again. A seed counts as passed with all gaps at most
`response.pass_gap`, no alarm of the probes in its last evaluation, and challengers of both roles that learned as long
and are as good as the role they challenge. With --power challengers must also find a planted blind spot and beat a
script from scratch; a seed on which they do not counts as inconclusive.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.numpy import save

from holdfast.config import to_json
from holdfast.config_reading import from_json
from holdfast.disk import replace_file
from holdfast.intervals import newcombe, wilson
from holdfast.runs.folder import Run, find_run
from holdfast.runs.metrics import read_lines
from holdfast.runs.reopen import config_of, load_checkpoint
from holdfast.selfplay.arena import below
from holdfast.selfplay.certificate import (
    FROZEN,
    SLACK,
    Case,
    blind_spot,
    case_of,
    play_pair,
    scratch_against_script,
)
from holdfast.selfplay.crossplay import read_book
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.matches import Contender
from holdfast.selfplay.probes import PROBED, Probe, alarms
from holdfast.selfplay.response import CHALLENGER, Gain, Setting, measure, respond
from holdfast.selfplay.rota import FIRST, SECOND, other
from holdfast.views.dry_run import spec_of

RESULTS = Path(__file__).parent / "results" / "pursuit_certified"
ORDER = ((FIRST, "incumbent"), (SECOND, "incumbent"), (FIRST, "scratch"), (SECOND, "scratch"))
NAMES = ("pursuer", "evader")
FREE = {"rollout.threads", "response.duels", "response.pass_gap"}  # may change after a pair was trained


def train(root: Path, seed: int, words: list[str]) -> Run:
    """Train, or go on with, one seed."""
    folder = root / f"pursuit-{seed}"
    command = [sys.executable, "-m", "holdfast"]
    result = folder / "result.json"
    if result.is_file() and json.loads(result.read_text())["outcome"] != "interrupted":
        return find_run(folder.name, str(root))
    if folder.exists():
        command += ["resume", folder.name, "--root", str(root)]
    else:
        command += ["train", "pursuit", f"--run.seed={seed}", f"--run.root={root}", f"--run.name={folder.name}", *words]
    done = subprocess.run([*command, "--quiet", "--no-report"])
    if done.returncode not in (0, 3):
        raise SystemExit(done.returncode)
    return find_run(folder.name, str(root))


def last_pair(run: Run) -> Case:
    config, saved = config_of(run), load_checkpoint(run, "latest")
    book, _ = read_book(saved)
    return case_of(config, spec_of(config), book, saved.arrays)


def keep_pair(path: Path, case: Case) -> None:
    """Both roles with all that moves them, and what a challenger must know of them."""
    arrays = {
        f"{name}/{key}": array for name, side in zip(NAMES, case.pair, strict=True) for key, array in side.items()
    }
    config = dataclasses.replace(case.config, run=dataclasses.replace(case.config.run, root="runs"))  # wherever it was
    facts = {"config": to_json(config), "level": case.level, "trained": case.trained}
    replace_file(path, save(arrays, {name: json.dumps(value) for name, value in facts.items()}))


def kept_pair(path: Path, words: list[str]) -> Case:
    """The pair of an earlier call; it is what it was trained to be, whatever is asked for now."""
    with safe_open(path, "numpy") as file:
        facts = {name: json.loads(text) for name, text in file.metadata().items()}
        names = file.keys()
        arrays = {name: file.get_tensor(name) for name in names}
    config, changed = from_json(facts["config"], str(path), words)
    if changed - FREE:
        raise SystemExit(f"{path} was trained with another {', '.join(sorted(changed - FREE))}: give other --results")
    first, second = (below(arrays, f"{name}/") for name in NAMES)
    return Case(config, Ladder(config, spec_of(config)), facts["level"], (first, second), tuple(facts["trained"]))


def take_up(given: argparse.Namespace, seed: int, path: Path) -> tuple[Case, dict[str, Any]]:
    """The pair of a seed, trained if it is not kept, and what is known of it."""
    pair, words = path.with_suffix(".safetensors"), [f"--{word}" for word in given.set]
    if pair.is_file() and path.is_file():
        return kept_pair(pair, words), json.loads(path.read_text())
    run = train(given.runs, seed, words)
    case = last_pair(run)
    row = json.loads(path.read_text()) if path.is_file() else begun(run, seed, case)
    write_row(path, row)
    keep_pair(pair, case)
    return case, row


def write_row(path: Path, row: dict[str, Any]) -> None:
    replace_file(path, (json.dumps(row) + "\n").encode())


def begun(run: Run, seed: int, case: Case) -> dict[str, Any]:
    """What is known of a seed before the first challenger."""
    wins, duels = play_pair(case)
    judged = [event for event in read_lines(run.folder / "events.jsonl") if event["event"] == "evaluation"]
    if not judged:
        raise SystemExit(f"{run.name} was never evaluated: set evaluation.every within its iterations")
    last = judged[-1]["probes"]
    probes = [Probe(role, name, last[f"{role}_{name}"]) for role in NAMES for name in PROBED]
    return {
        "seed": seed,
        "wins": wins,
        "duels": duels,
        "trained": list(case.trained),
        "rates": [round(event["rate"], 3) for event in judged],
        "alarms": alarms(probes, NAMES, [event["rate"] for event in judged]),
        "violated": [last[f"{name}_violated"] for name in NAMES],
        "rollbacks": sum(event["event"] == "rollback" for event in read_lines(run.folder / "events.jsonl")),
        "minutes": round(read_lines(run.folder / "timing.jsonl")[-1]["elapsed_s"] / 60.0, 1),
        "challengers": {},
    }


def challenge(case: Case, role: int, start: str, own: float, say: str) -> dict[str, Any]:
    rival = Contender(FROZEN, case.pair[other(role)])
    enough = own + case.config.response.pass_gap
    setting = Setting(case.config, case.ladder, case.level, role, rival, enough=enough)
    number = [word for _, word in ORDER[::2]].index(start)

    first = case.pair[role] if start == "incumbent" else None
    response = respond(setting, first, case.budget(role), 101 + role + 10 * number, partial(tell, say))
    wins, duels = measure(setting, Contender(CHALLENGER, response.arrays), case.config.response.duels)
    history = [[gain.steps, round(gain.rate, 3)] for gain in response.history]
    return {"wins": wins, "duels": duels, "steps": response.steps, "history": history}


def prove_power(case: Case, seed: int, row: dict[str, Any], write: Callable[[], None]) -> None:
    """Let challengers of both roles find a blind spot and beat a script, unless that is written already."""
    power = row.setdefault("power", {})
    for role, name in enumerate(NAMES):
        setting = Setting(case.config, case.ladder, case.level, role, Contender(FROZEN, case.pair[other(role)]))
        parts = {
            f"{name} blind spot": partial(blind_spot, setting, case.pair),
            f"{name} script": partial(scratch_against_script, setting),
        }
        for part, prove in parts.items():
            if part not in power:
                power[part] = prove(case.budget(role), partial(tell, f"seed {seed}, {part}"))
                write()


def power_of(row: dict[str, Any]) -> str:
    """Which parts of the power check are passed; none before the first."""
    checks = {part: bool(facts.get("found", facts.get("passed"))) for part, facts in row.get("power", {}).items()}
    failed = [part for part, passed in checks.items() if not passed]
    return f"not: {', '.join(failed)}" if failed else f"{len(checks)} of 4" if checks else "-"


def tell(who: str, gain: Gain) -> None:
    print(f"{who}: {gain.steps / 1e6:5.1f} M steps {gain.rate:.3f}", flush=True)


def own_wins(row: dict[str, Any], role: int) -> tuple[int, int]:
    wins, duels = int(row["wins"]), int(row["duels"])
    return (wins if role == FIRST else duels - wins), duels


def gap_of(row: dict[str, Any], role: int) -> tuple[float, float, float] | None:
    """The larger gain of a role's challengers with its interval; none before the first."""
    own = own_wins(row, role)
    tried = [row["challengers"].get(f"{NAMES[role]} {start}") for start in ("incumbent", "scratch")]
    done = [(one["wins"], one["duels"]) for one in tried if one]
    if not done:
        return None
    best = max(done)
    return (best[0] / best[1] - own[0] / own[1], *newcombe(best, own))


def verdict(row: dict[str, Any], pass_gap: float) -> str:
    gaps = [gap_of(row, role) for role in (FIRST, SECOND)]
    if any(gap is not None and gap[0] > pass_gap for gap in gaps):
        return "failed"
    if row["alarms"]:
        return "alarm"
    if len(row["challengers"]) < len(ORDER):
        return "not finished"
    if power_of(row).startswith("not"):
        return "inconclusive"
    long = all(row["challengers"][f"{NAMES[role]} {start}"]["steps"] >= row["trained"][role] for role, start in ORDER)
    return "passed" if long and all(gap is not None and gap[0] >= -SLACK for gap in gaps) else "inconclusive"


def table(rows: list[dict[str, Any]], pass_gap: float) -> str:
    lines = [
        "| seed | c | gap of the pursuer | gap of the evader | challengers | power | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        low, high = wilson(row["wins"], row["duels"])
        cells = []
        for role in (FIRST, SECOND):
            gap = gap_of(row, role)
            cells.append("-" if gap is None else f"{gap[0]:+.3f} [{gap[1]:+.3f}, {gap[2]:+.3f}]")
        rate = f"{row['wins'] / row['duels']:.3f} [{low:.3f}, {high:.3f}]"
        words = (row["seed"], rate, *cells, len(row["challengers"]), power_of(row), verdict(row, pass_gap))
        lines.append(f"| {' | '.join(map(str, words))} |")
    passed = sum(verdict(row, pass_gap) == "passed" for row in rows)
    low, high = wilson(passed, len(rows)) if rows else (0.0, 1.0)
    return "\n".join([*lines, "", f"passed: {passed} of {len(rows)} [{low:.2f}, {high:.2f}]"])


def read_seeds(text: str) -> list[int]:
    first, dash, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="folder that holds the runs")
    parser.add_argument("--seeds", default="1-10", help="1-10, or 1,3,5")
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="change the preset")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--challengers", type=int, default=len(ORDER), help="how many of the four to try")
    parser.add_argument("--power", action="store_true", help="also plant blind spots and play scripts from scratch")
    parser.add_argument("--table", action="store_true", help="only print what there is")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.results.mkdir(parents=True, exist_ok=True)
    pass_gap, rows = 0.05, []
    for seed in read_seeds(given.seeds):
        path = given.results / f"{seed}.json"
        if given.table:
            rows += [json.loads(path.read_text())] if path.is_file() else []
            continue
        case, row = take_up(given, seed, path)
        pass_gap = case.config.response.pass_gap
        write = partial(write_row, path, row)
        for role, start in ORDER[: given.challengers]:
            name = f"{NAMES[role]} {start}"
            if name in row["challengers"] or verdict(row, pass_gap) == "failed":
                continue
            wins, duels = own_wins(row, role)
            row["challengers"][name] = challenge(case, role, start, wins / duels, f"seed {seed}, {name}")
            write()
        if given.power and verdict(row, pass_gap) != "failed":
            prove_power(case, seed, row, write)
        rows.append(row)
        print(table(rows, pass_gap), flush=True)
    if given.table:
        print(table(rows, pass_gap))


if __name__ == "__main__":
    main()
