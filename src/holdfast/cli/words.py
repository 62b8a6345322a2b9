"""The words each verb of the command line understands, as `--help` lists them; what the verbs do is in `cli`."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from holdfast.kit.errors import ConfigError


class Parser(argparse.ArgumentParser):
    """argparse without abbreviations, whose errors look like all our others."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("allow_abbrev", False)
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **kwargs)

    def error(self, message: str) -> NoReturn:
        raise ConfigError([message])


def whole(text: str) -> int:
    """A whole number, also as 1e6."""
    from holdfast.config.options import from_text

    try:
        return int(from_text(text, int))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def add_run(verb: Parser) -> None:
    verb.add_argument("run", metavar="RUN", help="name or folder of a run")
    verb.add_argument("--root", default="runs", help="folder that holds the runs")


def add_policy(verb: Parser) -> None:
    verb.add_argument("--checkpoint", default="latest", help="latest, best, or an iteration's number")
    verb.add_argument("--sampled", action="store_true", help="draw actions as in training, not the likeliest")


def add_output(verb: Parser) -> None:
    verb.add_argument("--quiet", action="store_true", help="say nothing but errors and notes")
    verb.add_argument(
        "--json", action="store_true", help="progress to standard error, one JSON object to standard output"
    )
    verb.add_argument("--no-report", action="store_true", help="do not write report.html at the end")


def add_trust(verb: Parser) -> None:
    verb.add_argument(
        "--trust",
        action="append",
        metavar="MODULE",
        help="a module of yours that a run, deck or file names: import it, and trust it while it stays as it is",
    )


def trust(verb: Parser) -> None:
    verb.add_argument("module", nargs="?", metavar="MODULE", help="as it is named in module:Class; read it first")
    verb.add_argument("--list", action="store_true", help="what is trusted, and whether it is still the same")
    verb.add_argument("--remove", action="store_true", help="trust MODULE no more")
    verb.add_argument("--json", action="store_true", help="one JSON object")


def train(verb: Parser) -> None:
    verb.add_argument("target", metavar="PRESET")
    verb.add_argument("--dry-run", action="store_true", help="say what would happen and stop")
    verb.add_argument(
        "--total-steps",
        type=whole,
        metavar="N",
        help="train for N agent-steps: short for the run.iterations that takes, rounded up",
    )
    add_output(verb)


def demo(verb: Parser) -> None:
    verb.add_argument("--quiet", action="store_true", help="say nothing but errors, notes and where the results are")


def options(verb: Parser) -> None:
    verb.add_argument(
        "word",
        metavar="WORD",
        nargs="?",
        help="an option (learner.lr), a section (learner), a world (fish), or any word (default: list the sections)",
    )
    verb.add_argument("--json", action="store_true", help="print a JSON list")


def resume(verb: Parser) -> None:
    add_run(verb)
    verb.add_argument(
        "--find", action="store_true", help="RUN is a word: the newest unfinished run that has it in its path or preset"
    )
    verb.add_argument(
        "--relax",
        metavar="NAMES",
        default="",
        help="options or sections that may differ, as in lanes,world: lanes restart",
    )
    verb.add_argument("--allow-change", action="store_true", help="accept overrides that change what is learned")
    add_output(verb)


def evaluate(verb: Parser) -> None:
    add_run(verb)
    verb.add_argument("--episodes", type=int, default=80, help="how many (default 80)")
    add_policy(verb)
    verb.add_argument("--json", action="store_true", help="print one JSON object")


def play(verb: Parser) -> None:
    add_run(verb)
    verb.add_argument("rom", metavar="FILE", nargs="?", help="with `play rom`: the .nes file")
    verb.add_argument("--inputs", metavar="SCRIPT", help="with `play rom`: a file of lines such as `120 RIGHT+B`")
    verb.add_argument("--video", metavar="FILE", help=".mp4 or .gif (default: play.mp4 in the run's media folder)")
    verb.add_argument("--episode", type=int, default=0, help="which of the held-out episodes (default 0)")
    verb.add_argument("--stage", help="in a game of stages: which, for example 1-1 (default: one of the run's)")
    verb.add_argument("--level", help="with self-play: top, or the number of a level (default: the world as set)")
    verb.add_argument("--policy", default="learned", help="learned, or the name of a yardstick")
    verb.add_argument("--fps", type=int, default=20, help="pictures per second (default 20)")
    add_policy(verb)


def rehearse(verb: Parser) -> None:
    verb.add_argument("target", metavar="PRESET")
    verb.add_argument("--json", action="store_true", help="print one JSON object")


def gate(verb: Parser) -> None:
    verb.add_argument("action", choices=["check", "what-if"])
    verb.add_argument(
        "target", metavar="TARGET", help="with check: as for train; with what-if: name or folder of a run"
    )
    verb.add_argument("--root", default="runs", help="folder that holds the runs")
    verb.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="with what-if: as in success.ratio.main=0.025"
    )
    verb.add_argument("--json", action="store_true", help="print one JSON object")


def watch(verb: Parser) -> None:
    add_run(verb)
    verb.add_argument("--once", action="store_true", help="say how it stands and stop; status 1 if a stream is damaged")
    verb.add_argument("--json", action="store_true", help="one JSON object per look")
    verb.add_argument("--every", type=float, default=1.0, metavar="SECONDS", help="between two looks (default 1)")


def exploit(verb: Parser) -> None:
    add_run(verb)
    verb.add_argument("--role", default="both", help="whose challenger learns (default both)")
    verb.add_argument("--checkpoint", default="latest", help="latest, or an iteration's number")
    verb.add_argument("--steps", type=int, help="agent-steps of each challenger (default: the run's own setting)")
    verb.add_argument("--duels", type=int, help="episodes it is measured on (default: the run's own setting)")
    verb.add_argument("--power", action="store_true", help="also plant a weakness or a loss, and play scripts")
    verb.add_argument("--json", action="store_true", help="print one JSON object")


def crossplay(verb: Parser) -> None:
    verb.add_argument("runs", metavar="RUN", nargs="+", help="names or folders of runs of self-play")
    verb.add_argument("--root", default="runs", help="folder that holds the runs")
    verb.add_argument("--duels", type=int, default=256, help="episodes per pairing (default 256)")
    verb.add_argument("--json", action="store_true", help="print one JSON object")


def study(verb: Parser) -> None:
    verb.add_argument(
        "targets",
        metavar="TARGET",
        nargs="+",
        help="presets, worlds or .toml presets as for train; a study file; or the name of a study to go on with",
    )
    verb.add_argument("--name", default="", help="name of the study (default: of its file, or of its targets)")
    verb.add_argument("--root", default="studies", help="folder that holds the studies")
    verb.add_argument("--seeds", metavar="SEEDS", help="as in 1-10 or 1-5,101 (default 1-10)")
    verb.add_argument(
        "--grid", action="append", default=[], metavar="KEY=A,B", help="every combination of values, with every seed"
    )
    verb.add_argument("--search", metavar="SAMPLER", help="tpe, random, grid or cmaes over [search.space] of the file")
    verb.add_argument("--trials", type=int, help="with a search: how many in all")
    verb.add_argument("--goal", metavar="max:MEASURE", help="with a search or a population (default max:score)")
    verb.add_argument("--prune", metavar="RULE", help="with a search: median or none (the default)")
    verb.add_argument(
        "--pbt", type=int, metavar="MEMBERS", help="train a population over [population.space] of the file"
    )
    verb.add_argument("--generation", type=int, metavar="ITERATIONS", help="with a population: between two exchanges")
    verb.add_argument("--jobs", type=int, help="runs side by side (default: one per core)")
    verb.add_argument("--retry-failed", action="store_true", help="run failed trials again")
    verb.add_argument("--on", default="local", help="local; ray: started here; auto or an address: a Ray cluster")
    verb.add_argument("--storage", metavar="PATH", default="", help="with Ray: a folder that all nodes see")
    verb.add_argument("--piece", type=int, default=0, help="with Ray: iterations of a task (default: checkpoint.every)")
    verb.add_argument("--strict", action="store_true", help="with Ray: refuse nodes with other versions")
    verb.add_argument("--quiet", action="store_true", help="say nothing while it goes on but notes")
    verb.add_argument("--json", action="store_true", help="progress to standard error, one JSON object at the end")


def compare(verb: Parser) -> None:
    verb.add_argument("paths", metavar="STUDY|RUN", nargs="+", help="names or folders of studies and runs")
    verb.add_argument(
        "--by", metavar="OPTIONS", default="", help="group by these options alone, as in learner.lr,learner.epochs"
    )
    verb.add_argument("--measure", default="score", help="score, or a number of the final evaluation's episodes")
    verb.add_argument("--threshold", type=float, help="also when the measure reached this in training")
    verb.add_argument("--page", metavar="FILE", help="also write an HTML page with plots")
    verb.add_argument("--json", action="store_true", help="print one JSON object")


def report(verb: Parser) -> None:
    add_run(verb)
    verb.add_argument("--films", action="store_true", help="film the worst episodes of every evaluation that kept them")


def runs(verb: Parser) -> None:
    verb.add_argument("--find", metavar="WORD", help="those at any depth whose path, preset or world has it")
    verb.add_argument("--root", default="runs", help="folder that holds the runs")
    verb.add_argument("--json", action="store_true", help="print a JSON list")


def dashboard(verb: Parser) -> None:
    verb.add_argument("--root", default="runs", help="folder that holds the runs, at any depth (default runs)")
    verb.add_argument("--host", default="127.0.0.1", help="address to serve at; others than loopback need --token")
    verb.add_argument("--port", type=int, default=8321, help="port to serve at (default 8321; 0: any free one)")
    verb.add_argument("--token", metavar="auto|TEXT", help="ask for this token; auto makes one and prints it once")
    verb.add_argument("--open", action="store_true", help="open it in the browser of this machine")


def doctor(verb: Parser) -> None:
    verb.add_argument("--world", help="prove the contract on this world (default: on all of ours)")
    verb.add_argument("--json", action="store_true", help="print a JSON list")


def doctor_backends(verb: Parser) -> None:
    verb.add_argument("--trials", type=int, default=100, help="per backend (default 100)")
    verb.add_argument("--lanes", type=int, default=8, help="environments in each trial (default 8)")
    verb.add_argument("--steps", type=int, default=50, help="steps of each trial (default 50)")
    verb.add_argument("--only", metavar="NAMES", default="", help="console, nes_py, gym, drills (default: all)")
    verb.add_argument("--parallel", type=int, default=1, help="workers that build at once (default 1)")
    verb.add_argument("--rows", metavar="FILE", help="write one JSON line per trial to this file")
    verb.add_argument("--resume", action="store_true", help="count the trials that --rows FILE already has")
    verb.add_argument("--json", action="store_true", help="print one JSON object")


def doctor_nes(verb: Parser) -> None:
    verb.add_argument("--roms", metavar="DIR", help="a folder of public test programs to run as well")
    verb.add_argument("--json", action="store_true", help="print a JSON list")


def doctor_game(verb: Parser) -> None:
    verb.add_argument("game", metavar="GAME")
    verb.add_argument(
        "--rom", metavar="FILE", default="", help="the game's ROM (default: look for it; own: the test cartridge)"
    )
    verb.add_argument("--json", action="store_true", help="print a JSON list")


def bench(verb: Parser) -> None:
    from holdfast.worlds.ours import OURS

    parts = ["train", "world", "overlap", "nes", *OURS]
    verb.add_argument("part", choices=parts, help="PPO end to end; kernels; collecting in a thread; emulators; a game")
    verb.add_argument("--json", action="store_true", help="print one JSON object")
    verb.add_argument("--repeats", type=int, default=5, help="rounds, contenders taking turns (default 5)")
    verb.add_argument("--rom", metavar="FILE", help="with nes and its games: the program (default: the installed game)")
    verb.add_argument("--blocks", action="store_true", help="also with the ROM's own hot code compiled")


def completion(verb: Parser) -> None:
    verb.add_argument("shell", choices=["bash", "zsh", "fish"], help="source <(holdfast completion bash)")


def deck(verb: Parser) -> None:
    actions = verb.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    harvest = actions.add_parser("harvest", help="play a run's policy and keep the moments before its worst losses")
    add_run(harvest)
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


def import_(verb: Parser) -> None:
    verb.add_argument("source", metavar="SOURCE", help="fish-command: a command line of the trainer that came before")
    verb.add_argument("file", metavar="FILE", help="what to read")
    verb.add_argument("--out", metavar="FILE", help="write the preset here (default: to standard output)")


def checkpoint(verb: Parser) -> None:
    verb.add_argument("action", choices=["inspect", "verify", "prune", "backfill"])
    verb.add_argument("target", metavar="RUN", help="name or folder of a run; for backfill also any folder above")
    verb.add_argument("--root", default="runs", help="folder that holds the runs")
    verb.add_argument("--checkpoint", help="with inspect: latest (the default), best, or an iteration's number")
    verb.add_argument("--keep", type=int, help="with prune: newest ones to keep (default: as configured)")
    verb.add_argument("--budget-mb", type=float, help="with prune: for all together (default: as configured)")
    verb.add_argument("--dry-run", action="store_true", help="with prune and backfill: say what would be done")
    verb.add_argument(
        "--assume-rollout-steps", type=int, metavar="T", help="with backfill: where it is not written (default 64)"
    )
    verb.add_argument("--update-if-lower", action="store_true", help="with backfill: also counts that are too low")
    verb.add_argument("--no-backup", action="store_true", help="with backfill: keep no .bak of what is changed")
    verb.add_argument("--json", action="store_true", help="print one JSON object")
