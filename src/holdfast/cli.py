"""The command line: parses, calls, and exits with a true status. Everything heavy is imported inside the verbs.

Exit status: 0 done, 1 failed, 2 bad input, 130 or 143 interrupted with the state saved.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from holdfast import __version__
from holdfast.errors import ConfigError, HoldfastError, nearest

EPILOG = """examples:
  holdfast train template                     a tiny world with a known answer, solved in seconds
  holdfast train gym:CartPole-v1              any registered Gymnasium environment; module:EnvClass works too
  holdfast train fish --learner.lr 1e-3 --run.name first
  holdfast resume first                       goes on; the end is the same as if it had never stopped
  holdfast train fish --dry-run               what would happen, and nothing else

Every option of docs/config.md can be set with --section.key value, names in full.
Exit status: 0 done, 1 failed, 2 bad input, 130/143 interrupted (state saved)."""


DOCTORS = {  # `doctor nes`, `doctor backends`, `doctor mario`
    "nes": "doctor-nes",
    "backends": "doctor-backends",
    "mario": "doctor-mario",
}


class Parser(argparse.ArgumentParser):
    """argparse without abbreviations, whose errors look like all our others."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("allow_abbrev", False)
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **kwargs)

    def error(self, message: str) -> NoReturn:
        raise ConfigError([message])


Verb = Callable[[argparse.Namespace, list[str]], int]


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the `holdfast` command."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        status = run(words)
    except HoldfastError as error:
        print(f"holdfast: error: {error}", file=sys.stderr)
        status = error.exit_status
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)


def run(words: list[str]) -> int:
    parser, verbs = make_parser()
    if words[:1] == ["doctor"] and words[1:2] and words[1] in DOCTORS:
        words = [DOCTORS[words[1]], *words[2:]]  # verbs of their own: `doctor` alone takes options with free values
    first = next((word for word in words if not word.startswith("-")), None)
    if first is not None and first not in verbs:
        raise ConfigError([f"no verb {first!r}{nearest(first, list(verbs))}; there are {', '.join(verbs)}"])
    namespace, rest = parser.parse_known_args(words)
    if namespace.verb is None:
        parser.print_help()
        return 0
    if rest and not namespace.takes_options:
        raise ConfigError([f"holdfast {namespace.verb} does not know {word!r}" for word in rest])
    verb: Verb = namespace.call
    return verb(namespace, rest)


def make_parser() -> tuple[Parser, dict[str, Parser]]:
    parser = Parser(
        prog="holdfast",
        description="Train reinforcement-learning agents on one machine, and resume them bit for bit.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"holdfast {__version__}")
    subparsers = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)
    verbs: dict[str, Parser] = {}

    def add(name: str, meaning: str, call: Verb, takes_options: bool = False) -> Parser:
        verb = subparsers.add_parser(name, help=meaning, description=meaning)
        verb.set_defaults(call=call, takes_options=takes_options)
        verbs[name] = verb
        return verb

    train = add("train", "train a preset, a .toml file, or a world by its name", train_verb, takes_options=True)
    train.add_argument("target", metavar="PRESET")
    train.add_argument("--dry-run", action="store_true", help="say what would happen and stop")
    _add_output(train)
    resume = add("resume", "go on with a run from its last checkpoint", resume_verb, takes_options=True)
    _add_run(resume)
    resume.add_argument(
        "--find", action="store_true", help="RUN is a word: the newest unfinished run that has it in its path or preset"
    )
    resume.add_argument(
        "--relax",
        metavar="NAMES",
        default="",
        help="options or sections that may differ, as in lanes,world: lanes restart",
    )
    resume.add_argument("--allow-change", action="store_true", help="accept overrides that change what is learned")
    _add_output(resume)
    evaluate = add("evaluate", "judge a run's policy beside the yardsticks, on held-out seeds", evaluate_verb)
    _add_run(evaluate)
    evaluate.add_argument("--episodes", type=int, default=80, help="how many (default 80)")
    _add_policy(evaluate)
    evaluate.add_argument("--json", action="store_true", help="print one JSON object")
    play = add("play", "film an episode of a run's policy, or a NES program: play rom FILE --inputs SCRIPT", play_verb)
    _add_run(play)
    play.add_argument("rom", metavar="FILE", nargs="?", help="with `play rom`: the .nes file")
    play.add_argument("--inputs", metavar="SCRIPT", help="with `play rom`: which buttons are held for how long")
    play.add_argument("--video", metavar="FILE", help=".mp4 or .gif (default: play.mp4 in the run's media folder)")
    play.add_argument("--episode", type=int, default=0, help="which of the held-out episodes (default 0)")
    play.add_argument("--stage", help="with mario: the stage to play, for example 1-1 (default: one of the run's)")
    play.add_argument("--policy", default="learned", help="learned, or the name of a yardstick")
    play.add_argument("--fps", type=int, default=20, help="pictures per second (default 20)")
    _add_policy(play)
    rehearsal = add("rehearse", "play a run in miniature: every feature it enables must fire", rehearse_verb, True)
    rehearsal.add_argument("target", metavar="PRESET")
    rehearsal.add_argument("--json", action="store_true", help="print one JSON object")
    gate = add(
        "gate", "check TARGET: can its gate open at all? what-if RUN: what would another gate say?", gate_verb, True
    )
    gate.add_argument("action", choices=["check", "what-if"])
    gate.add_argument(
        "target", metavar="TARGET", help="with check: as for train; with what-if: name or folder of a run"
    )
    gate.add_argument("--root", default="runs", help="folder that holds the runs")
    gate.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="with what-if: as in success.ratio.main=0.025"
    )
    gate.add_argument("--json", action="store_true", help="print one JSON object")
    watch = add("watch", "follow a run that is going on or over, by reading its folder only", watch_verb)
    _add_run(watch)
    watch.add_argument(
        "--once", action="store_true", help="say how it stands and stop; status 1 if a stream is damaged"
    )
    watch.add_argument("--json", action="store_true", help="one JSON object per look")
    watch.add_argument("--every", type=float, default=1.0, metavar="SECONDS", help="between two looks (default 1)")
    _add_checkpoint_tools(
        add("checkpoint", "inspect, verify, prune or backfill the checkpoints of a run or folder", checkpoint_verb)
    )
    challenge = add("exploit", "best responses against a run's frozen roles: how far can they be beaten?", exploit_verb)
    _add_run(challenge)
    challenge.add_argument("--role", default="both", help="whose challenger learns (default both)")
    challenge.add_argument("--checkpoint", default="latest", help="latest, or an iteration's number")
    challenge.add_argument("--steps", type=int, help="agent-steps of each challenger (default: the run's own setting)")
    challenge.add_argument("--duels", type=int, help="episodes it is measured on (default: the run's own setting)")
    challenge.add_argument("--power", action="store_true", help="also plant a blind spot and play scripts from scratch")
    challenge.add_argument("--json", action="store_true", help="print one JSON object")
    cross = add("crossplay", "who beats whom over the milestones of runs, as a matrix and a picture", crossplay_verb)
    cross.add_argument("runs", metavar="RUN", nargs="+", help="names or folders of runs of self-play")
    cross.add_argument("--root", default="runs", help="folder that holds the runs")
    cross.add_argument("--duels", type=int, default=256, help="episodes per pairing (default 256)")
    cross.add_argument("--json", action="store_true", help="print one JSON object")
    report = add("report", "write a run's report.html", report_verb)
    _add_run(report)
    report.add_argument(
        "--films", action="store_true", help="film the worst episodes of every evaluation that kept them"
    )
    runs = add("runs", "list the runs", runs_verb)
    runs.add_argument("--find", metavar="WORD", help="those at any depth whose path, preset or world has it")
    runs.add_argument("--root", default="runs", help="folder that holds the runs")
    runs.add_argument("--json", action="store_true", help="print a JSON list")
    proves = (
        "prove that the installation, a world, the NES (doctor nes), workers (doctor backends) or the game "
        "(doctor mario) keep their promises"
    )
    doctor = add("doctor", proves, doctor_verb, True)
    doctor.add_argument("--world", help="prove the contract on this world (default: on all of ours)")
    doctor.add_argument("--json", action="store_true", help="print a JSON list")
    backends = add(
        DOCTORS["backends"], "build, reset, step and close pools of environments again and again", backends_verb
    )
    backends.add_argument("--trials", type=int, default=100, help="per backend (default 100)")
    backends.add_argument("--lanes", type=int, default=8, help="environments in each trial (default 8)")
    backends.add_argument("--steps", type=int, default=50, help="steps of each trial (default 50)")
    backends.add_argument("--only", metavar="NAMES", default="", help="console, nes_py, gym, drills (default: all)")
    backends.add_argument("--parallel", type=int, default=1, help="workers that build at once (default 1)")
    backends.add_argument("--rows", metavar="FILE", help="write one JSON line per trial to this file")
    backends.add_argument("--json", action="store_true", help="print one JSON object")
    nes = add(DOCTORS["nes"], "prove that the console is right on this machine", doctor_nes_verb)
    nes.add_argument("--roms", metavar="DIR", help="a folder of public test programs to run as well")
    nes.add_argument("--json", action="store_true", help="print a JSON list")
    _add_deck(add("deck", "harvest RUN: keep a policy's worst situations; show FILE: what is in a deck?", deck_verb))
    mario = add(DOCTORS["mario"], "prove that Super Mario Bros is read right on this machine", doctor_mario_verb)
    mario.add_argument(
        "--rom", metavar="FILE", default="", help="the ROM (default: look for it; own: the test cartridge)"
    )
    mario.add_argument("--json", action="store_true", help="print a JSON list")
    bench = add("bench", "measure a part against what one would use instead", bench_verb)
    parts = ["train", "world", "overlap", "nes", "mario"]
    bench.add_argument("part", choices=parts, help="PPO end to end; kernels; collecting in a thread; emulators; a game")
    bench.add_argument("--json", action="store_true", help="print one JSON object")
    bench.add_argument("--repeats", type=int, default=5, help="rounds, contenders taking turns (default 5)")
    bench.add_argument("--rom", metavar="FILE", help="with nes, mario: the program (default: the installed game)")
    bench.add_argument("--blocks", action="store_true", help="with nes: also with the ROM's own hot code compiled")
    return parser, verbs


def _add_run(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", help="name or folder of a run")
    parser.add_argument("--root", default="runs", help="folder that holds the runs")


def _add_deck(deck: Parser) -> None:
    actions = deck.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    harvest = actions.add_parser("harvest", help="play a run's policy and keep the moments before its worst losses")
    _add_run(harvest)
    harvest.add_argument("--worst", type=int, default=32, help="episodes to take moments from (default 32)")
    harvest.add_argument("--episodes", type=int, help="episodes to find them among (default: 5 times as many)")
    harvest.add_argument("--slow", type=float, default=1.0, help="scale the predator's speed by this (default 1)")
    harvest.add_argument("--fish", type=int, help="fish per episode (default: as in the run's evaluations)")
    harvest.add_argument("--checkpoint", help="best, latest, or an iteration's number (default: best if there is one)")
    harvest.add_argument("-o", "--output", metavar="FILE", required=True, help="the deck; its light twin ends in .json")
    show = actions.add_parser("show", help="count, histograms and floor of a deck, computed from its items")
    show.add_argument("deck", metavar="FILE")
    show.add_argument("--json", action="store_true", help="print one JSON object")
    show.add_argument("--picture", metavar="FILE", help="also draw it to this .png file")


def _add_checkpoint_tools(parser: Parser) -> None:
    parser.add_argument("action", choices=["inspect", "verify", "prune", "backfill"])
    parser.add_argument("target", metavar="RUN", help="name or folder of a run; for backfill also any folder above")
    parser.add_argument("--root", default="runs", help="folder that holds the runs")
    parser.add_argument("--checkpoint", help="with inspect: latest (the default), best, or an iteration's number")
    parser.add_argument("--keep", type=int, help="with prune: newest ones to keep (default: as configured)")
    parser.add_argument("--budget-mb", type=float, help="with prune: for all together (default: as configured)")
    parser.add_argument("--dry-run", action="store_true", help="with prune and backfill: say what would be done")
    parser.add_argument(
        "--assume-rollout-steps", type=int, metavar="T", help="with backfill: where it is not written (default 64)"
    )
    parser.add_argument("--update-if-lower", action="store_true", help="with backfill: also counts that are too low")
    parser.add_argument("--no-backup", action="store_true", help="with backfill: keep no .bak of what is changed")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _add_policy(parser: Parser) -> None:
    parser.add_argument("--checkpoint", default="latest", help="latest, best, or an iteration's number")
    parser.add_argument("--sampled", action="store_true", help="draw actions as in training, not the likeliest")


def _add_output(parser: Parser) -> None:
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors and notes")
    parser.add_argument(
        "--json", action="store_true", help="progress to standard error, one JSON object to standard output"
    )
    parser.add_argument("--no-report", action="store_true", help="do not write report.html at the end")


# --- verbs ---------------------------------------------------------------------------------------------------------


def train_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.config_checks import check_against_world
    from holdfast.config_reading import load_config
    from holdfast.views.dry_run import spec_of

    config, explicit = load_config(arguments.target, options)
    spec = spec_of(config)
    check_against_world(config, explicit, spec)
    if arguments.dry_run:
        from holdfast.views.dry_run import dry_run

        return dry_run(config, spec, as_json=arguments.json)
    from holdfast.curriculum.feasible import check_run, refuse_infeasible
    from holdfast.runs.folder import command_line, create_run
    from holdfast.train import train

    report = check_run(config)
    refuse_infeasible(config, report)
    run = create_run(config, arguments.target, command_line())
    if report is not None:
        run.write_json("feasibility.json", {**report.to_json(), "accepted": not report.feasible})
    return _finish(arguments, run, lambda watch: train(config, run, watch))


def resume_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.runs.folder import find_run
    from holdfast.runs.reopen import config_to_resume, keep_changed_config
    from holdfast.train import resume

    found: list[str] = []
    if arguments.find:
        from holdfast.runs.find import run_to_resume

        run, found = run_to_resume(arguments.run, arguments.root)
    else:
        run = find_run(arguments.run, arguments.root)
    run.lock()
    relax = [name for name in arguments.relax.split(",") if name]
    config, notes, fresh_lanes = config_to_resume(run, options, arguments.allow_change, relax)
    if notes:
        keep_changed_config(run, config, notes)
    return _finish(arguments, run, lambda watch: resume(config, run, watch, [*found, *notes], fresh_lanes))


def _finish(arguments: argparse.Namespace, run: Any, go: Callable[[Any], Any]) -> int:
    """Let a run go on under the chosen view, then write its report and print its result."""
    from holdfast.views.terminal import LiveView, make_watch

    watch = make_watch(arguments.quiet, sys.stderr if arguments.json else sys.stdout)
    try:
        result = go(watch)
    finally:
        if isinstance(watch, LiveView):
            watch.close()
        run.unlock()
    if result.outcome != "interrupted" and not arguments.no_report:
        path = _write_report(run)
        if not arguments.quiet:
            print(f"report: {path}", file=sys.stderr if arguments.json else sys.stdout)
    if arguments.json:
        print(json.dumps({"run": str(run.folder), **result.as_json()}))
    status: int = result.exit_status
    return status


def evaluate_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.runs.folder import find_run
    from holdfast.views.judge import judge

    scores, score_name = judge(
        find_run(arguments.run, arguments.root), arguments.checkpoint, arguments.episodes, arguments.sampled
    )
    from holdfast.views.levels import judge_levels, levels_table

    run = find_run(arguments.run, arguments.root)
    levels = judge_levels(run, arguments.checkpoint, arguments.episodes, arguments.sampled)
    if arguments.json:
        found: dict[str, Any] = {"score": score_name, "policies": {name: s._asdict() for name, s in scores.items()}}
        print(json.dumps({**found, "levels": [row._asdict() for row in levels]} if levels else found))
    else:
        from rich.console import Console

        from holdfast.views.terminal import scores_table

        Console().print(scores_table(scores, score_name))
        if levels:
            Console().print(levels_table(levels))
    return 0


def play_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.judge import film, film_rom

    if arguments.run == "rom":
        print(f"video: {film_rom(arguments.rom, arguments.inputs, arguments.video)}")
        return 0
    if arguments.rom is not None or arguments.inputs is not None:
        raise ConfigError([f"{arguments.rom or '--inputs'} goes with: holdfast play rom FILE --inputs SCRIPT"])
    from holdfast.runs.folder import find_run

    print(f"video: {film(find_run(arguments.run, arguments.root), arguments)}")
    return 0


def rehearse_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.rehearsal import show_rehearsal

    return show_rehearsal(arguments.target, options, arguments.json)


def gate_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.gate import gate_check, gate_what_if

    if arguments.action == "check":
        if arguments.set:
            raise ConfigError(["--set goes with gate what-if; gate check takes --gate.KEY VALUE as train does"])
        return gate_check(arguments.target, options, arguments.json)
    problems = [f"holdfast gate what-if does not know {word!r}" for word in options]
    if not arguments.set:
        problems.append("gate what-if needs at least one change: --set KEY=VALUE")
    if problems:
        raise ConfigError(problems)
    from holdfast.runs.folder import find_run

    return gate_what_if(find_run(arguments.target, arguments.root), arguments.set, arguments.json)


def watch_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.runs.folder import find_run
    from holdfast.views.watch import watch

    if not arguments.every > 0:
        raise ConfigError([f"--every {arguments.every:g}: must be more than 0"])
    return watch(find_run(arguments.run, arguments.root).folder, arguments.once, arguments.json, arguments.every)


def checkpoint_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.checkpoints import checkpoint_tool

    return checkpoint_tool(arguments)


def exploit_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.runs.folder import find_run
    from holdfast.views.selfplay import exploit

    run = find_run(arguments.run, arguments.root)
    given = (arguments.role, arguments.checkpoint, arguments.steps, arguments.duels, arguments.power, arguments.json)
    return exploit(run, *given)


def crossplay_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.runs.folder import find_run
    from holdfast.views.selfplay import show_crossplay

    runs = [find_run(name, arguments.root) for name in arguments.runs]
    return show_crossplay(runs, arguments.duels, arguments.json)


def report_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.runs.folder import find_run

    print(f"report: {_write_report(find_run(arguments.run, arguments.root), arguments.films)}")
    return 0


def _write_report(run: Any, all_films: bool = False) -> Any:
    """The page with films of the worst episodes, and all metrics as one table for other programs."""
    from holdfast.runs.tables import write_table
    from holdfast.views.report import write_report
    from holdfast.views.school_films import film_worst, training_curve

    if run.describe()["config"].get("metrics", {}).get("parquet", True):
        write_table(run.folder)
    film_worst(run.folder, all_films)
    training_curve(run.folder)
    return write_report(run.folder)


def runs_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.run_list import list_runs

    return list_runs(arguments.root, arguments.json, arguments.find)


def doctor_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.doctor import doctor

    return doctor(arguments.world, options, arguments.json)


def backends_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.doctor_backends import doctor_backends

    return doctor_backends(arguments)


def doctor_nes_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.doctor import doctor_nes

    return doctor_nes(arguments.roms, arguments.json)


def deck_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.decks import harvest_deck, show_deck

    return harvest_deck(arguments) if arguments.action == "harvest" else show_deck(arguments)


def doctor_mario_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.doctor import doctor_mario

    return doctor_mario(arguments.rom, arguments.json)


def bench_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.bench import bench

    if arguments.repeats < 1:
        raise ConfigError([f"--repeats {arguments.repeats}: must be at least 1"])
    if arguments.part != "nes" and (arguments.blocks or (arguments.rom and arguments.part != "mario")):
        raise ConfigError(["--rom goes with: holdfast bench nes, or mario; --blocks with nes"])
    return bench(arguments)


if __name__ == "__main__":
    main()
