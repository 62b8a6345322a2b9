"""The command line: parses, calls, and exits with a true status. Everything heavy is imported inside the verbs.

Exit status: 0 done, 1 failed, 2 bad input, 130 or 143 interrupted with the state saved.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from holdfast import __version__
from holdfast.cli import words as cli_words
from holdfast.config.foreign_names import VERBS as known_as
from holdfast.kit.errors import ConfigError, HoldfastError, nearest

EPILOG = """examples:
  holdfast demo                               see it work: trains, judges, films and reports in two minutes
  holdfast train template                     a tiny world with a known answer, solved in seconds
  holdfast train gym:CartPole-v1              a Gymnasium environment; module:EnvClass works too
  holdfast train fish --learner.lr 1e-3 --run.name first
  holdfast resume first                       goes on; the end is the same as if it had never stopped
  holdfast train fish --dry-run               what would happen, and nothing else

Any option can be set with --section.key value, names in full; `holdfast options WORD` finds and explains them.
Exit status: 0 done, 1 failed, 2 bad input, 130/143 interrupted (state saved)."""


ANY_OPTION = "and any --section.key value of the configuration: see holdfast options\n\n"

DOCTORS = {"nes": ["doctor-nes"], "backends": ["doctor-backends"]}  # further ones are of games: `doctor GAME`


Call = Callable[[argparse.Namespace, list[str]], int]


class Verb(NamedTuple):
    """One verb of the command line."""

    meaning: str
    words: Callable[[cli_words.Parser], None]  # adds what it understands
    call: Call
    example: str  # a command line that works
    takes_options: bool = False  # any --section.key of a configuration


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the `holdfast` command."""
    words = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):  # in a locale without UTF-8 a sign is shown as ?, and nothing fails for it
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        status = run(words)
    except HoldfastError as error:
        status = tell(error)
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except Exception as error:
        from holdfast.runs.failing import named

        known = named(error)
        if known is None:
            raise
        status = tell(known)
    sys.exit(status)


def tell(error: HoldfastError) -> int:
    with contextlib.suppress(OSError):  # the status is told in any case
        print(f"holdfast: error: {error}", file=sys.stderr, flush=True)
    return error.exit_status


def run(words: list[str]) -> int:
    parser = make_parser()
    if words[:1] == ["doctor"] and words[1:2] and (own := _own_doctor(words[1])):
        words = [*own, *words[2:]]  # verbs of their own: `doctor` alone takes options with free values
    first = next((word for word in words if not word.startswith("-")), None)
    if first is not None and first not in VERBS:
        known = list(VERBS)
        meant = f" (did you mean {known_as[first]}?)" if first in known_as else nearest(first, known)
        raise ConfigError([f"no verb {first!r}{meant}; there are {', '.join(known)}"])
    namespace, rest = parser.parse_known_args(words)
    if namespace.verb is None:
        parser.print_help()
        return 0
    for module in getattr(namespace, "trust", None) or []:
        name_modules(module)
    if rest and not namespace.takes_options:
        raise ConfigError([f"holdfast {namespace.verb} does not know {word!r}" for word in rest])
    call: Call = namespace.call
    try:
        return call(namespace, rest)
    except SystemExit as error:  # no verb calls it: code of a world did, or Rich for want of a reader
        if isinstance(error.__context__, BrokenPipeError):
            raise error.__context__ from None
        from holdfast.runs.failing import EnvironmentExit, named

        raise named(error) or EnvironmentExit(str(error)) from error


def _own_doctor(name: str) -> list[str]:
    from holdfast.worlds.registry import own_game

    if name.startswith("-"):
        return []
    return DOCTORS.get(name) or (["doctor-game", name] if own_game(name).proofs is not None else [])


def make_parser() -> cli_words.Parser:
    parser = cli_words.Parser(
        prog="holdfast",
        description="Train reinforcement-learning agents on one machine, and resume them bit for bit.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"holdfast {__version__}")
    subparsers = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=cli_words.Parser)
    for name, verb in VERBS.items():
        epilog = f"{ANY_OPTION if verb.takes_options else ''}example:\n  holdfast {verb.example}"
        one = subparsers.add_parser(name, help=verb.meaning, description=verb.meaning, epilog=epilog)
        one.set_defaults(call=verb.call, takes_options=verb.takes_options)
        verb.words(one)
        if name != "trust":
            cli_words.add_trust(one)
    return parser


def train_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.config.reading import load_config
    from holdfast.config.total_steps import with_total_steps
    from holdfast.runs.first_weights import check_first_weights
    from holdfast.views.dry_run import checked_spec, spec_of
    from holdfast.worlds.registry import known_spec

    config, explicit = load_config(arguments.target, options)
    if arguments.total_steps is not None:
        spec = known_spec(config) or spec_of(config)
        config, told = with_total_steps(config, spec, arguments.total_steps, options)
        print(told, file=sys.stderr if arguments.json else sys.stdout)
    spec = checked_spec(config, explicit)
    check_first_weights(config, spec)
    if arguments.dry_run:
        from holdfast.views.dry_run import dry_run

        return dry_run(config, spec, as_json=arguments.json)
    from holdfast.api.training import new_run
    from holdfast.runs.folder import command_line
    from holdfast.train import train
    from holdfast.worlds.registry import game_of

    game = game_of(config)
    campaign = game.campaign(config) if game.campaign is not None else None
    if campaign is not None:
        return campaign(arguments)
    run = new_run(config, arguments.target, command_line())
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
        from holdfast.views.report.whole import write_whole_report

        path = write_whole_report(run)
        if not arguments.quiet:
            print(f"report: {path}", file=sys.stderr if arguments.json else sys.stdout)
    if arguments.json:
        print(json.dumps({"run": str(run.folder), **result.as_json()}))
    status: int = result.exit_status
    return status


def options_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.options import show_options

    return show_options(arguments.word, arguments.json)


def demo_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.cli.demo import demo

    return demo(options, arguments.quiet)


def evaluate_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.judge import find_policy, judge
    from holdfast.worlds.registry import game_of

    kept = find_policy(arguments.run, arguments.root)
    scores, score_name = judge(kept, arguments.checkpoint, arguments.episodes, arguments.sampled)
    game = game_of(kept.config)
    given = (kept, arguments.checkpoint, arguments.episodes, arguments.sampled)
    levels = game.stage_rows(*given) if game.stage_rows is not None else []
    if arguments.json:
        found: dict[str, Any] = {"score": score_name, "policies": {name: s._asdict() for name, s in scores.items()}}
        print(json.dumps({**found, "levels": [row._asdict() for row in levels]} if levels else found))
    else:
        from rich.console import Console

        from holdfast.views.terminal import scores_table

        Console().print(scores_table(scores, score_name))
        if levels and game.stage_table is not None:
            Console().print(game.stage_table(levels))
    return 0


def play_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.judge import Film, film, film_rom, find_policy

    if arguments.run == "rom":
        print(f"video: {film_rom(arguments.rom, arguments.inputs, arguments.video)}")
        return 0
    if arguments.rom is not None or arguments.inputs is not None:
        raise ConfigError([f"{arguments.rom or '--inputs'} goes with: holdfast play rom FILE --inputs SCRIPT"])
    wanted = Film(**{name: getattr(arguments, name) for name in Film.__dataclass_fields__})
    print(f"video: {film(find_policy(arguments.run, arguments.root), wanted)}")
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


def study_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.study import show_study

    return show_study(arguments, options)


def compare_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.comparison import show_comparison

    return show_comparison(arguments)


def report_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.runs.folder import find_run
    from holdfast.views.report.whole import write_whole_report

    print(f"report: {write_whole_report(find_run(arguments.run, arguments.root), arguments.films)}")
    return 0


def runs_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.run_list import list_runs

    return list_runs(arguments.root, arguments.json, arguments.find)


def dashboard_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.dashboard.launch import dashboard

    return dashboard(arguments)


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


def import_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.imports import import_settings

    return import_settings(arguments.source, arguments.file, arguments.out)


def doctor_game_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.doctor import doctor_game

    return doctor_game(arguments.game, arguments.rom, arguments.json)


def completion_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.completion import script, words_of

    print(script(arguments.shell, words_of(make_parser())), end="")
    return 0


def bench_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.bench import bench

    if arguments.repeats < 1:
        raise ConfigError([f"--repeats {arguments.repeats}: must be at least 1"])
    if arguments.part in ("train", "world", "overlap") and (arguments.blocks or arguments.rom):
        raise ConfigError(["--rom and --blocks go with: holdfast bench nes, or a game of it"])
    return bench(arguments)


def trust_verb(arguments: argparse.Namespace, options: list[str]) -> int:
    from holdfast.views.trust import trust_tool

    return trust_tool(arguments)


def name_modules(words: str) -> None:
    """`--trust a,b`: these modules may be imported in this command, and are trusted from then on."""
    from holdfast.worlds.trust import name_module

    for module in words.split(","):
        name_module(module)


VERBS = {
    "train": Verb(
        "train a preset, a .toml file, or a world by its name",
        cli_words.train,
        train_verb,
        "train fish --learner.lr 1e-3 --run.name first",
        takes_options=True,
    ),
    "demo": Verb(
        "train the school of fish, film one episode and write the report: two minutes",
        cli_words.demo,
        demo_verb,
        "demo --run.seed 7",
        takes_options=True,
    ),
    "resume": Verb(
        "go on with a run from its last checkpoint", cli_words.resume, resume_verb, "resume first", takes_options=True
    ),
    "evaluate": Verb(
        "judge a run's policy beside the yardsticks, on held-out seeds",
        cli_words.evaluate,
        evaluate_verb,
        "evaluate first --episodes 200",
    ),
    "play": Verb(
        "film an episode of a run's policy, or a NES program: play rom FILE --inputs SCRIPT",
        cli_words.play,
        play_verb,
        "play first --video first.mp4",
    ),
    "options": Verb(
        "explain an option, list a section's options, or find a word in their help",
        cli_words.options,
        options_verb,
        "options learner.lr",
    ),
    "rehearse": Verb(
        "play a run in miniature: every feature it enables must fire",
        cli_words.rehearse,
        rehearse_verb,
        "rehearse fish",
        takes_options=True,
    ),
    "gate": Verb(
        "check TARGET: can its gate open at all? what-if RUN: what would another gate say?",
        cli_words.gate,
        gate_verb,
        "gate check fish --gate.success_p10 450",
        takes_options=True,
    ),
    "watch": Verb(
        "follow a run that is going on or over, by reading its folder only",
        cli_words.watch,
        watch_verb,
        "watch first --once",
    ),
    "checkpoint": Verb(
        "inspect, verify, prune or backfill the checkpoints of a run or folder",
        cli_words.checkpoint,
        checkpoint_verb,
        "checkpoint verify first",
    ),
    "exploit": Verb(
        "best responses against a run's frozen roles: how far can they be beaten?",
        cli_words.exploit,
        exploit_verb,
        "exploit pursuit-1 --role evader",
    ),
    "crossplay": Verb(
        "who beats whom over the milestones of runs, as a matrix and a picture",
        cli_words.crossplay,
        crossplay_verb,
        "crossplay pursuit-1 pursuit-2",
    ),
    "study": Verb(
        "many runs that answer one question: seeds, grids, searches, populations; again, it goes on",
        cli_words.study,
        study_verb,
        "study template --seeds 1-3",
        takes_options=True,
    ),
    "compare": Verb(
        "compare runs by their configurations: intervals over seeds, differences, learning curves",
        cli_words.compare,
        compare_verb,
        "compare studies/template",
    ),
    "report": Verb("write a run's report.html", cli_words.report, report_verb, "report first"),
    "runs": Verb("list the runs", cli_words.runs, runs_verb, "runs --json"),
    "dashboard": Verb(
        "all runs in a browser, live, from their folders alone",
        cli_words.dashboard,
        dashboard_verb,
        "dashboard --root runs",
    ),
    "doctor": Verb(
        "prove that the installation, a world, the NES (doctor nes), workers (doctor backends) or a game "
        "(doctor GAME) keep their promises",
        cli_words.doctor,
        doctor_verb,
        "doctor --world my_module:Mine",
        takes_options=True,
    ),
    "doctor-backends": Verb(
        "build, reset, step and close pools of environments again and again",
        cli_words.doctor_backends,
        backends_verb,
        "doctor backends --only console --trials 5",
    ),
    "doctor-nes": Verb(
        "prove that the console is right on this machine", cli_words.doctor_nes, doctor_nes_verb, "doctor nes"
    ),
    "deck": Verb(
        "harvest RUN: keep a policy's worst situations; show FILE: what is in a deck?",
        cli_words.deck,
        deck_verb,
        "deck show runs/first/decks/iteration-10.deck",
    ),
    "doctor-game": Verb(
        "prove that a game is read right on this machine",
        cli_words.doctor_game,
        doctor_game_verb,
        "doctor mario --rom own",
    ),
    "completion": Verb(
        "print a script that completes verbs, presets and options in your shell: bash, zsh or fish",
        cli_words.completion,
        completion_verb,
        "completion bash > ~/.holdfast.bash",
    ),
    "bench": Verb("measure a part against what one would use instead", cli_words.bench, bench_verb, "bench train"),
    "trust": Verb(
        "let a module of yours be imported wherever a run names it", cli_words.trust, trust_verb, "trust my_module"
    ),
    "import": Verb(
        "write the preset that another program's settings amount to",
        cli_words.import_,
        import_verb,
        "import fish-command v42.sh",
    ),
}


if __name__ == "__main__":
    main()
