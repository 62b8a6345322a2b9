"""From a command line of the earlier fish trainer to the options of a run here, and what is not the same.

What that trainer took for granted is written out: its defaults, the classic reward, resets at every phase, situations
applied before the pre-roll, evaluations on ever new seeds. Every flag becomes an option, or a note with the reason, or
is refused.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, NamedTuple

from holdfast.config.options import OptionInfo, from_text, kind_name, out_of_bounds
from holdfast.config.sections import known_options, sections_for
from holdfast.curriculum.deck_spec import parse_stages, print_stages
from holdfast.curriculum.gate_changes import option_name, read_by_type
from holdfast.curriculum.gate_settings import PER_TYPE
from holdfast.curriculum.pairs import finite_number, parse_pairs, print_pairs, whole_number
from holdfast.curriculum.schedule import Schedule, parse_schedule
from holdfast.games.fish.fish_flags import (
    ABSENT,
    ACTED,
    ALL,
    COMBINED,
    CONSTANTS,
    GATE,
    GATE_PREFIX,
    OPTIONS,
    SWITCHES,
    WITHOUT_VALUE,
    Becomes,
)
from holdfast.games.fish.world.fish import Fish
from holdfast.kit.errors import ConfigError, nearest
from holdfast.worlds.game import Imported

SCHEDULES = {"constant": "constant", "cosine": "cosine", "warm_cosine": "cosine"}
RESTARTS = "it began anew in every phase; here the rate is on one cosine over the whole run"
EPISODE_STEPS = 500
PER_TYPE_ENDING = "_by_type"  # of the names of flags and tables of flags


class Note(NamedTuple):
    """A flag whose value does not act here as it did there."""

    flag: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"--{self.flag}{' ' if self.value else ''}{self.value}: {self.reason}"


def import_command(text: str) -> Imported:
    """The options behind a command line; ConfigError lists every flag that cannot be read."""
    try:
        words = shlex.split(re.sub(r"\\\r?\n", " ", text))
    except ValueError as error:
        raise ConfigError([f"not a command line: {error}"]) from None
    first = next((place for place, word in enumerate(words) if word.startswith("--")), len(words))
    if first == len(words):
        raise ConfigError(["not a command line of the earlier trainer: there is no flag in it"])
    return import_flags(words[first:])


def import_flags(words: list[str]) -> Imported:
    given, problems = _split(words)
    problems += [
        f"--{flag}: not a flag of the earlier trainer{nearest(flag, sorted(ALL))}"
        for flag in given
        if flag not in ALL and not _gate_option(flag)
    ]
    reading = _Reading(given, problems)
    options = reading.options()
    if problems:
        raise ConfigError(problems)
    return Imported(options, tuple(map(str, reading.notes)))


def _split(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Flags with their texts, the last of those given twice, and what could not be taken apart."""
    texts: dict[str, str] = {}
    problems: list[str] = []
    waiting = list(words)
    while waiting:
        flag, equals, text = waiting.pop(0).partition("=")
        name = flag.removeprefix("--")
        if not flag.startswith("--"):
            problems.append(f"{flag!r}: a value without a flag")
        elif name in WITHOUT_VALUE:
            texts[name] = ""
            problems += [f"{flag}: takes no value"] if equals else []
        elif not equals and (not waiting or waiting[0].startswith("--")):
            problems.append(f"{flag}: no value given")
        else:
            texts[name] = text if equals else waiting.pop(0)
    return texts, problems


def _gate_option(flag: str) -> str | None:
    """The option behind a gate's flag, also behind one that the trainer did not have."""
    if not flag.startswith(GATE_PREFIX):
        return None
    key, by_type = option_name(flag.removeprefix(GATE_PREFIX))
    if by_type:
        return f"gate.{key}{PER_TYPE_ENDING}" if key in PER_TYPE else None
    return f"gate.{key}" if f"gate.{key}" in _KNOWN else None


def _becomes(flag: str) -> Becomes | None:
    if not flag.startswith(GATE_PREFIX):
        return OPTIONS.get(flag)
    name = _gate_option(flag)
    return GATE.get(flag.removeprefix(GATE_PREFIX)) or (Becomes(name, "") if name else None)


_KNOWN: dict[str, OptionInfo] = known_options(sections_for(Fish.Settings, Fish.game.sections))


class _Reading:
    """One command line on its way to options; problems and notes are gathered."""

    def __init__(self, given: dict[str, str], problems: list[str]) -> None:
        self.given, self.problems = given, problems
        self.notes: list[Note] = []
        self.found: dict[str, Any] = {}

    def options(self) -> dict[str, Any]:
        for flag in dict.fromkeys([*OPTIONS, *(GATE_PREFIX + name for name in GATE), *self.given]):
            becomes = _becomes(flag)
            if becomes is not None:
                self._take(flag, becomes)
        combined = {flag: self._number(flag, self.given.get(flag, text)) for flag, text in COMBINED.items()
                    if flag != "tail_seed_replay_path"}  # fmt: skip
        self._note_the_rest()
        if self.problems:
            return {}
        self._world()
        self._evaluations(int(combined["eval_multi_fish"]))
        self._learning_rate()
        self._deck(int(combined["tail_seed_prewarm_iterations"]))
        self._gate()
        self._phases(combined["escape_boost_floor_default"])
        return self.found

    # --- one flag after the other ------------------------------------------------------------------------------------

    def _take(self, flag: str, becomes: Becomes) -> None:
        text = self.given.get(flag, becomes.default).strip()
        if text == "" or flag == "lr_schedule":
            return
        if becomes.option.endswith(PER_TYPE_ENDING):
            self._take_by_type(flag, becomes.option, text)
            return
        info = _KNOWN[becomes.option]
        try:
            if becomes.off is not ... and float(text) <= 0:
                self.found[becomes.option] = becomes.off
                return
            value = from_text(text, info.kind)
        except ValueError:
            self.problems.append(f"--{flag}: {text!r} is not {kind_name(info.kind)}")
            return
        wrong = out_of_bounds(value, info)
        if wrong:
            self.problems.append(f"--{flag}: {text} {wrong}")
        self.found[becomes.option] = value

    def _take_by_type(self, flag: str, option: str, text: str) -> None:
        key = option.removeprefix("gate.").removesuffix(PER_TYPE_ENDING)
        try:
            found = read_by_type(key, text, f"--{flag}")
        except ConfigError as error:
            self.problems += error.problems
            return
        self.found |= {f"gate.{name}": value for name, value in found.items()}

    def _number(self, flag: str, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            self.problems.append(f"--{flag}: {text!r} is not a number")
            return 0.0

    def _note_the_rest(self) -> None:
        for flag, text in {**ACTED, **self.given}.items():
            if flag in ABSENT:
                self.notes.append(Note(flag, text, ABSENT[flag]))
            elif flag in CONSTANTS and _numbers(text) != _numbers(CONSTANTS[flag]):
                self.problems.append(f"--{flag} {text}: it is part of the world here, {CONSTANTS[flag]}")

    def _drop(self, sections: tuple[str, ...], reason: str, keep: tuple[str, ...] = ()) -> None:
        """Options that would not act; flags that were given for them get a note."""
        for flag in self.given:
            becomes = _becomes(flag)
            if becomes is not None and becomes.option in self.found and self._is_in(becomes.option, sections, keep):
                self.notes.append(Note(flag, self.given[flag], f"it has no effect {reason}"))
        gone = [name for name in self.found if self._is_in(name, sections, keep)]
        for name in gone:
            del self.found[name]

    @staticmethod
    def _is_in(name: str, sections: tuple[str, ...], keep: tuple[str, ...]) -> bool:
        return name.partition(".")[0] in sections and name not in keep

    # --- what belongs together ---------------------------------------------------------------------------------------

    def _world(self) -> None:
        self.found |= {"world.steps": EPISODE_STEPS, "world.reward": "classic"}
        switched = {what: on for flag in self.given if flag in SWITCHES for what, on in [SWITCHES[flag]]}
        self.found["world.neighbours"] = switched.get("neighbours", True)
        self.found["world.boost"] = self.found["boost.speed"]
        if not switched.get("boost", True):
            self._drop(("boost",), "with --no_initial_escape_boost")
            self.found |= {"world.boost": 0.0, "boost.speed": 0.0}

    def _evaluations(self, fish: int) -> None:
        if fish <= 1 or self.found["evaluation.every"] == 0:
            self._drop(("evaluation",), "without evaluations of schools", keep=("evaluation.final_episodes",))
            self.found["evaluation.every"] = 0
        if fish > 1:
            self.found["evaluation.world"] = {"fish": fish, "steps": EPISODE_STEPS}
        if self.found["evaluation.every"]:
            self.found["evaluation.seeds"] = "rolling"
            if "run.seed" in self.found:
                self.found.setdefault("evaluation.seed", self.found["run.seed"])

    def _learning_rate(self) -> None:
        text = self.given.get("lr_schedule", OPTIONS["lr_schedule"].default)
        if text not in SCHEDULES:
            self.problems.append(f"--lr_schedule: {text!r} is not one of {', '.join(SCHEDULES)}")
            return
        self.found["learner.lr_schedule"] = SCHEDULES[text]
        if text != "constant":
            self.notes.append(Note("lr_schedule", text, RESTARTS))

    def _deck(self, prewarm: int) -> None:
        path, stages = self.given.get("tail_seed_replay_path", ""), self.found.get("deck.stages", "")
        if stages and path:
            self.notes.append(Note("tail_seed_replay_path", path, "--tail_seed_stage_spec took its place"))
        elif path and prewarm > 0:
            stages = f"{prewarm}:{path}"
        elif path or prewarm > 0:
            lone = "tail_seed_replay_path" if path else "tail_seed_prewarm_iterations"
            self.notes.append(Note(lone, self.given.get(lone, ""), "it had no effect without the other of the two"))
        if stages:
            before_the_roll = (stage._replace(apply="pre_roll") for stage in parse_stages(stages, "the deck"))
            self.found |= {"deck.stages": print_stages(before_the_roll), "deck.share": 1.0}
        else:
            self._drop(("deck",), "without a deck", keep=("deck.force_reset_steps", "deck.replay_count"))

    def _gate(self) -> None:
        lock = self.found.get("gate.lock_iteration") or self.found.get("density.lock_until", 0)
        wanted = self.found.get("gate.required_successes") and self.found.get("gate.phase_allowance")
        if wanted and self.found.get("density.targets") and self.found["evaluation.every"]:
            self.found |= {"gate.enabled": True, "gate.lock_iteration": lock, "gate.median_fallback": "p10"}
        else:
            self._drop(("gate",), "without evaluations, density targets, allowed phases and required successes")

    def _phases(self, floor: float) -> None:
        """Without phases what was said for each of them is said of the world."""
        text = self.found.get("schedule.phases", "")
        if not text:
            self._drop(("schedule", "density", "boost", "gate"), "without --curriculum", keep=("boost.speed",))
            self.found["world.boost"] = max(self.found.pop("boost.speed"), floor if self.found["world.boost"] else 0.0)
            return
        schedule = parse_schedule(text, "--curriculum")
        self.found["world.fish"] = schedule.most_fish
        self.found |= {"schedule.phase_reset": "always", "boost.in_evaluations": "current"}
        if self.found.get("density.lock_value", 0.0) is None or not self.found["density.lock_until"]:
            self.found["density.lock_until"] = 0
            self.found.pop("density.lock_value", None)
        if floor > self.found["boost.speed"] > 0.0:
            self.found["boost.phase_floors"] = _with_floor(self.found.get("boost.phase_floors", ""), floor, schedule)


def _with_floor(text: str, floor: float, schedule: Schedule) -> str:
    """Floors of all phases, those that are not named at the common one."""
    named = dict(parse_pairs(text, "--escape_boost_phase_floors", whole_number, finite_number))
    return print_pairs((phase, named.get(phase, floor)) for phase in range(1, len(schedule.phases) + 1))


def _numbers(text: str) -> list[float]:
    """The numbers in a text, whichever way they are written."""
    return [float(found) for found in re.findall(r"\d+(?:\.\d*)?", text)]
