"""A preset of self-play over seeds, each with its best-response test, in pieces: what is finished is not run again.

    python benchmarks/pursuit_certified.py RUNS --seeds 1-10
    python benchmarks/pursuit_certified.py RUNS --seeds 1 --preset pursuit-flat --results FOLDER
    python benchmarks/pursuit_certified.py RUNS --seeds 1-10 --set duel.evader_lr=0.3 --results FOLDER
    python benchmarks/pursuit_certified.py RUNS --seeds 1,2 --power
    python benchmarks/pursuit_certified.py RUNS --seeds 3,4 --further
    python benchmarks/pursuit_certified.py RUNS --seeds 5 --challengers 0 --further 4
    python benchmarks/pursuit_certified.py RUNS --seeds 1-10 --table

Each seed is trained to its end; its last pair is then put to four challengers that learn as long as the roles did: for
each role one from the role's weights and one from scratch. A seed whose first gap is too wide is not tried further, and
that challenger stops once the gap is certain. One file per seed in benchmarks/results/PRESET_certified, written after
every challenger, so two processes may share the seeds; beside it the pair itself, so that anybody can go on challenging
it without training it again. Figures of earlier recipes are kept without their pairs; they are only printed. A seed
counts as passed with all gaps at most --limit, no alarm of the probes in its last evaluation, and challengers of both
roles that learned as long and are as good as the role they challenge.
With --power challengers must also find what is planted for them and beat a script from scratch; a seed on which they do
not counts as inconclusive. Without --power the strength of the challengers is not checked, and a longer challenger may
beat a pair that passed. With --further a copy of the run goes on for a tenth of its length, and the new pair is
challenged likewise; a seed whose gaps are then too wide counts as drifted. A preset with `response.rounds` tests itself
and learns on while it does not pass: then the challengers here, and the duels they are measured on, are others.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch
from certified_rows import FURTHER, NAMES, ORDER, challenger_name, is_failed, own_wins, table
from safetensors import safe_open
from safetensors.numpy import save

from holdfast.config.reading import from_json, load_config
from holdfast.config.sections import Config, to_json
from holdfast.kit.disk import replace_file
from holdfast.runs.folder import RunFolder, find_run
from holdfast.runs.metrics import read_lines
from holdfast.runs.reopen import config_of, load_checkpoint
from holdfast.selfplay.certificate import FROZEN, Case, case_of, play_pair
from holdfast.selfplay.crossplay import read_book
from holdfast.selfplay.ladder import Ladder
from holdfast.selfplay.matches import Contender
from holdfast.selfplay.power import planted, scratch_against_script
from holdfast.selfplay.probes import PROBED, Probe, alarms
from holdfast.selfplay.response import Gain, Setting, challenge
from holdfast.selfplay.rota import other
from holdfast.state import below
from holdfast.views.dry_run import spec_of

RESULTS = Path(__file__).parent / "results"
OTHER = 1000  # challengers and duels of their own, where a run's own tests decided how long it learned
OF_ROUNDS = tuple(f"--response.{word}" for word in ("round", "anew", "mends", "heirs"))  # nothing without them
LIKEWISE = -1  # as many challengers as of the pair before
FREE = {"rollout.threads", "response.duels"}  # may change after a pair was trained


def train(given: argparse.Namespace, seed: int, words: list[str]) -> RunFolder:
    """Train, or go on with, one seed."""
    folder = given.runs / f"{given.preset}-{seed}"
    if is_over(folder):
        return find_run(folder.name, str(given.runs))
    if folder.exists():
        return holdfast(folder, "resume", folder.name, "--root", str(given.runs))
    named = [f"--run.seed={seed}", f"--run.root={given.runs}", f"--run.name={folder.name}"]
    return holdfast(folder, "train", given.preset, *named, *words)


def words_of(given: argparse.Namespace) -> list[str]:
    """What is changed about the preset. Without rounds a run makes no test of its own: that is made here, in pieces."""
    words = [f"--{word}" for word in given.set]
    if has_rounds(load_config(given.preset, words)[0]):
        return words
    return [*(word for word in words if not word.startswith(OF_ROUNDS)), "--response.certify=false"]


def has_rounds(config: Config) -> bool:
    """Whether tests of its own decide how long a run learns; others must judge what comes of it."""
    return config.response.certify and config.response.rounds > 0


def is_over(folder: Path, iterations: int = 0) -> bool:
    """Whether a run has come to its end, after so many iterations at least."""
    result = folder / "result.json"
    if not result.is_file():
        return False
    facts = json.loads(result.read_text())
    return facts["outcome"] != "interrupted" and facts["counts"]["iteration"] >= iterations


def holdfast(folder: Path, *words: str) -> RunFolder:
    """Run a verb as a user would; what is then in the folder."""
    done = subprocess.run([sys.executable, "-m", "holdfast", *words, "--quiet", "--no-report"])
    if done.returncode not in (0, 3):
        raise SystemExit(done.returncode)
    return find_run(folder.name, str(folder.parent))


def train_further(given: argparse.Namespace, seed: int) -> RunFolder:
    """A copy of a seed's run, a tenth longer; the run stays as it is."""
    folder = given.runs / f"{given.preset}-{seed}"
    copied, half = (folder.with_name(f"{folder.name}-{word}") for word in (FURTHER, "half-copied"))
    if not is_over(folder):
        raise SystemExit(f"{folder} is not there, or not finished: only a whole run can go on")
    if not copied.exists():
        shutil.rmtree(half, ignore_errors=True)
        shutil.copytree(folder, half)
        half.rename(copied)
    run = find_run(folder.name, str(given.runs))
    config, ended = config_of(run), json.loads((folder / "result.json").read_text())["counts"]["iteration"]
    if is_over(copied, ended + 1):
        return find_run(copied.name, str(given.runs))
    longer = config.run.iterations - (-config.run.iterations // 10)  # of the last pair, whichever round is its
    changed = ["--allow-change", f"--run.iterations={longer}"]
    changed += ["--response.certify=false"] if has_rounds(config) else []
    return holdfast(copied, "resume", copied.name, "--root", str(given.runs), *changed)


def last_pair(run: RunFolder) -> Case:
    """Measured on other duels than the run's own tests, if it made any."""
    config, saved = config_of(run), load_checkpoint(run, "latest")
    if own_tests(run):
        other_seed = dataclasses.replace(config.evaluation, seed=config.evaluation.seed + OTHER)
        config = dataclasses.replace(config, evaluation=other_seed)
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
    pair, words = path.with_suffix(".safetensors"), words_of(given)
    row = json.loads(path.read_text()) if path.is_file() else {}
    if pair.is_file() and row:
        return kept_pair(pair, words), row
    if row.get("challengers") or {"power", FURTHER} & row.keys():
        raise SystemExit(f"{path} has figures of a pair that is no longer kept: give other --results to train anew")
    run = train(given, seed, words)
    case = last_pair(run)
    row = row or begun(run, seed, case)
    write_row(path, row)
    keep_pair(pair, case)
    return case, row


def write_row(path: Path, row: dict[str, Any]) -> None:
    replace_file(path, (json.dumps(row) + "\n").encode())


def begun(run: RunFolder, seed: int, case: Case) -> dict[str, Any]:
    """What is known of a seed before the first challenger."""
    judged = [event for event in read_lines(run.folder / "events.jsonl") if event["event"] == "evaluation"]
    if not judged:
        raise SystemExit(f"{run.name} was never evaluated: set evaluation.every within its iterations")
    last = judged[-1]["probes"]
    probes = [Probe(role, name, last[f"{role}_{name}"]) for role in NAMES for name in PROBED]
    return {
        "seed": seed,
        **played(case),
        "rates": [round(event["rate"], 3) for event in judged],
        "alarms": alarms(probes, NAMES, [event["rate"] for event in judged]),
        "violated": [last[f"{name}_violated"] for name in NAMES],
        "rollbacks": sum(event["event"] == "rollback" for event in read_lines(run.folder / "events.jsonl")),
        "rounds": own_tests(run),
        "minutes": round(read_lines(run.folder / "timing.jsonl")[-1]["elapsed_s"] / 60.0, 1),
        "minutes_with_tests": minutes_from_end_to_end(run),
    }


def minutes_from_end_to_end(run: RunFolder) -> float | None:
    """What its user waited, tests included; unknown of a run that was interrupted."""
    events = read_lines(run.folder / "events.jsonl")
    if any(event["event"] == "interrupted" for event in events):
        return None
    first, last = (datetime.fromisoformat(event["time"]) for event in (events[0], events[-1]))
    return round((last - first).total_seconds() / 60.0, 1)


def own_tests(run: RunFolder) -> list[dict[str, Any]]:
    """What the run's own tests said after its iterations and after each further round."""
    events = read_lines(run.folder / "events.jsonl")
    return [own_test(event) for event in events if event["event"] == "best_response"]


def own_test(event: dict[str, Any]) -> dict[str, Any]:
    """One of them, as far as it came: the gaps with their intervals, and how long its challengers learned."""
    steps: dict[str, int] = {}
    gaps: dict[str, list[float]] = {}
    for name, side in event["sides"].items():
        gaps[name] = [round(side[word], 4) for word in ("gap", "low", "high")]
        steps |= {f"{name} {start}": one["steps"] for start, one in side["challengers"].items()}
    told = {name: event[name] for name in ("iteration", "verdict", "duels")}
    return {**told, "gap": round(event["gap"], 4), "gaps": gaps, "challengers": steps}


def played(case: Case) -> dict[str, Any]:
    """What a pair does without challengers."""
    wins, duels = play_pair(case)
    return {"wins": wins, "duels": duels, "trained": list(case.trained), "challengers": {}}


def try_one(case: Case, role: int, start: str, enough: float, say: str, shift: int) -> dict[str, Any]:
    rival = Contender(FROZEN, case.pair[other(role)])
    setting = Setting(case.config, case.ladder, case.level, role, rival, enough=enough)
    number = [word for _, word in ORDER[::2]].index(start)

    first = case.pair[role] if start == "incumbent" else None
    seed = 101 + role + 10 * number + shift
    found = challenge(setting, first, case.budget(role), seed, partial(tell, say))
    history = [[gain.steps, round(gain.rate, 3)] for gain in found.response.history]
    return {"wins": found.wins, "duels": found.duels, "steps": found.response.steps, "history": history}


def challenge_all(
    case: Case, row: dict[str, Any], count: int, limit: float, say: str, write: Callable[[], None]
) -> None:
    """So many challengers of a pair, in order, until one has a gap that is too wide; none twice."""
    for role, start in ORDER[:count]:
        name = challenger_name(role, start)
        if name in row["challengers"] or is_failed(row, limit):
            continue
        wins, duels = own_wins(row, role)
        enough, shift = wins / duels + limit, OTHER if row.get("rounds") else 0
        row["challengers"][name] = try_one(case, role, start, enough, f"{say}, {name}", shift)
        write()


def go_further(given: argparse.Namespace, seed: int, row: dict[str, Any], write: Callable[[], None]) -> None:
    """The same pair after a further tenth of training, challenged likewise."""
    case = last_pair(train_further(given, seed))
    if FURTHER not in row:
        row[FURTHER] = played(case) | {"rounds": row.get("rounds", [])}
        write()
    count = given.challengers if given.further == LIKEWISE else given.further
    challenge_all(case, row[FURTHER], count, given.limit, f"seed {seed} further", write)


def prove_power(case: Case, seed: int, row: dict[str, Any], write: Callable[[], None]) -> None:
    """Let challengers of both roles find what is planted and beat a script, unless that is written already."""
    power = row.setdefault("power", {})
    for role, name in enumerate(NAMES):
        setting = Setting(case.config, case.ladder, case.level, role, Contender(FROZEN, case.pair[other(role)]))
        parts = {
            f"{name} planted": partial(planted, setting, case.pair),
            f"{name} script": partial(scratch_against_script, setting),
        }
        for part, prove in parts.items():
            if part not in power:
                power[part] = prove(case.budget(role), partial(tell, f"seed {seed}, {part}"))
                write()


def tell(who: str, gain: Gain) -> None:
    print(f"{who}: {gain.steps / 1e6:5.1f} M steps {gain.rate:.3f}", flush=True)


def read_seeds(text: str) -> list[int]:
    first, dash, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="folder that holds the runs")
    parser.add_argument("--preset", default="pursuit")
    parser.add_argument("--seeds", default="1-10", help="1-10, or 1,3,5")
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="change the preset")
    parser.add_argument("--results", type=Path, help="folder of the figures; by default that of the preset")
    parser.add_argument("--challengers", type=int, default=len(ORDER), help="how many of the four to try")
    parser.add_argument("--power", action="store_true", help="also plant something to find, and play scripts")
    further = "also challenge the pair after a tenth more training, with N of the four (as many as --challengers)"
    parser.add_argument("--further", nargs="?", type=int, const=LIKEWISE, default=0, metavar="N", help=further)
    parser.add_argument("--limit", type=float, default=0.05, help="a wider gap is no equilibrium")
    parser.add_argument("--table", action="store_true", help="only print what there is")
    given = parser.parse_args()
    torch.set_num_threads(1)
    results = given.results or RESULTS / f"{given.preset}_certified"
    results.mkdir(parents=True, exist_ok=True)
    limit, rows = given.limit, []
    for seed in read_seeds(given.seeds):
        path = results / f"{seed}.json"
        if given.table:
            rows += [json.loads(path.read_text())] if path.is_file() else []
            continue
        case, row = take_up(given, seed, path)
        write = partial(write_row, path, row)
        challenge_all(case, row, given.challengers, limit, f"seed {seed}", write)
        if given.power and not is_failed(row, limit):
            prove_power(case, seed, row, write)
        if given.further and not is_failed(row, limit):
            go_further(given, seed, row, write)
        rows.append(row)
        print(table(rows, limit), flush=True)
    if given.table:
        print(table(rows, limit))


if __name__ == "__main__":
    main()
