"""Proofs that the game is read right on this machine: boot, starts, every end reason, pipes, pause, resets, sameness.

They run on the real console with the ROM that is found, and on the project's own cartridge where there is none. Frame
and pixel figures of the game were measured per family; a difference means that ROM, console or facts have changed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from holdfast.games.mario.world import facts, play
from holdfast.games.mario.world.actions import BITS, read_actions
from holdfast.games.mario.world.errors import ActionError, RomNotFound
from holdfast.games.mario.world.mario import Mario
from holdfast.games.mario.world.own_cartridge import FLAG_X
from holdfast.games.mario.world.play import REASONS
from holdfast.games.mario.world.rom import OWN, VARIABLE, find_rom, open_rom
from holdfast.games.mario.world.settings import MarioSettings
from holdfast.games.mario.world.stages import STAGES
from holdfast.games.mario.world.starts import Lane, make_game, start_problems, start_row, title_lane
from holdfast.kit.errors import HoldfastError
from holdfast.worlds.api import Episodes, random_policy
from holdfast.worlds.check import Proof

FRAME_SLACK, X_SLACK = 3, 4
LONG = 100_000  # steps: a limit that never comes
BOOT_FRAMES = 60
RANDOM_LANES, RANDOM_STEPS = 16, 5000


class Expected(NamedTuple):
    """What holding RIGHT, holding nothing, and clearing 1-1 and 1-4 must come to."""

    death_frame: int
    death_x: int
    clock_frame: int
    flag_x: tuple[int, int]
    castle_x: tuple[int, int]


EXPECTED = {
    "A": Expected(160, 298, 8020, (3157, 3165), (2240, 2280)),
    "B": Expected(190, 295, 9624, (3157, 3165), (2240, 2280)),
    OWN: Expected(100, 240, 8020, (FLAG_X, FLAG_X + 4), (FLAG_X, FLAG_X + 4)),
}


class Patient:
    """One ROM under examination."""

    def __init__(self, rom: str, threads: int) -> None:
        self.option = rom
        self.threads = threads
        self.rom = open_rom(rom)
        self.expected = EXPECTED[OWN if self.rom.path == OWN else self.rom.family]
        self.reasons: set[int] = set()  # of all ends that were seen

    def world(self, lanes: int = 1, **options: object) -> Mario:
        chosen = {"rom": self.option, "noop_max": 0, "actions": "complex", **options}
        world = Mario(MarioSettings(**chosen), lanes, seed=1, threads=self.threads)  # type: ignore[arg-type]
        world.reset()
        return world

    def hold(self, world: Mario, buttons: int, steps: int = LONG) -> Episodes:
        """Hold buttons in all lanes until lane 0 ends."""
        action = np.full((world.lanes, 1), world.buttons.index(buttons), np.int64)
        for _ in range(steps):
            world.step({"player": action})
            if world.terminated[0] or world.truncated[0]:
                ended = world.finished()
                self.reasons |= set(ended["reason"].tolist())
                return ended
        raise HoldfastError(f"no end within {steps} steps")


def boot(patient: Patient) -> str:
    lane = title_lane(patient.rom, make_game(patient.rom))
    assert lane.frames <= BOOT_FRAMES, f"the title screen came after {lane.frames} frames"
    return f"title screen after {lane.frames} frames; {patient.rom.name}, family {patient.rom.family}"


def stages(patient: Patient) -> str:
    title = title_lane(patient.rom, make_game(patient.rom))
    for number, name in enumerate(STAGES):
        problems = start_problems(start_row(title, number), number)
        assert not problems, f"{name}: {'; '.join(problems)}"
    world = patient.world(stages="all", lanes=len(STAGES))
    same = all((row == world.fixed.starts[track[play.STAGE_NUMBER]]).all() for row, track in _rows(world))
    assert same, "a reset lane is not byte-equal to its stage's start"
    return f"{len(STAGES)} stages begin as they should; a reset is byte-equal to the start"


def _rows(world: Mario) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return zip(world.state.console, world.state.track, strict=True)


def death(patient: Patient) -> str:
    world, expected = patient.world(), patient.expected
    first = world.player.obs.copy()
    ended = patient.hold(world, BITS["RIGHT"])
    frames, x = int(ended["frames"][0]), int(ended["max_x"][0])
    assert ended["reason"][0] == play.DEATH, f"ended by {REASONS[ended['reason'][0]]}"
    assert abs(frames - expected.death_frame) <= FRAME_SLACK, f"frame {frames}, expected {expected.death_frame}"
    assert abs(x - expected.death_x) <= X_SLACK, f"x {x}, expected {expected.death_x}"
    assert ended["paid_end"][0] == world.settings.death_final, f"the end paid {ended['paid_end'][0]}"
    assert (world.player.obs == first).all(), "the next episode does not begin with the start's sight"
    return f"RIGHT on 1-1 dies in frame {frames} at x {x}; the end term is paid once"


def clock(patient: Patient) -> str:
    world = patient.world(stagnation_steps=LONG, max_steps=LONG)
    ended = patient.hold(world, 0)
    frames = int(ended["frames"][0])
    assert ended["reason"][0] == play.CLOCK, f"ended by {REASONS[ended['reason'][0]]}"
    wanted = patient.expected.clock_frame
    assert abs(frames - wanted) <= FRAME_SLACK, f"frame {frames}, expected {wanted}"
    return f"standing on 1-1 is killed by the clock in frame {frames}"


def limits(patient: Patient) -> str:
    for name, options in {"timeout": {"max_steps": 50}, "stagnation": {"stagnation_steps": 20}}.items():
        world = patient.world(**options)
        first = world.player.obs.copy()
        ended = patient.hold(world, 0, 51)
        steps = next(iter(options.values()))
        assert world.truncated[0] and not world.terminated[0], f"{name} does not truncate"
        assert REASONS[ended["reason"][0]] == name and ended["length"][0] == steps, f"{name} after {ended['length'][0]}"
        assert ended["paid_end"][0] == 0.0, f"{name} is paid as an end"
        assert world.clock.t[0] == 0 and (world.player.obs == first).all(), f"{name} did not reset the lane"
        assert world.player.final_alive[0, 0] and world.player.final_obs.any(), f"{name} left no last sight"
    return "limits of 50 and 20 steps truncate, pay nothing, reset the lane and leave a last sight to bootstrap from"


def pause(patient: Patient) -> str:
    game = make_game(patient.rom)
    lane = Lane(game, start_row(title_lane(patient.rom, game), 0))
    lane.press(BITS["START"])
    lane.press(BITS["RIGHT"], 60)
    assert facts.paused(lane.row) and facts.x(lane.row) == 40, "START in play does not pause this ROM"
    try:
        read_actions("extended")
        raise AssertionError("a set with START was accepted")
    except ActionError:
        pass
    world = patient.world(actions="extended", auto_start=False, stagnation_steps=LONG)
    start, both = world.buttons.index(BITS["START"]), world.buttons.index(BITS["START"] | BITS["RIGHT"])
    for step in range(30):
        world.step({"player": np.full((1, 1), start if step < 2 else both, np.int64)})
    assert not facts.paused(world.state.console[0]), "START reached the console in play"
    assert facts.mode(world.state.console[0]) == facts.PLAY, "START on the title screen did not start the game"
    return "START in play freezes the game; sets with it are refused, and in play it is never delivered"


def life(patient: Patient) -> str:
    world = patient.world(lanes=RANDOM_LANES, noop_max=30, actions="simple")
    first = world.player.obs.copy()
    running, tables, changed = np.ones(RANDOM_LANES, bool), [], False
    for step in range(RANDOM_STEPS):
        world.step(random_policy(world))
        changed |= step < 10 and bool((world.player.obs != first).any())
        running &= ~(world.terminated | world.truncated)
        tables.append(world.finished())
        if not running.any():
            break
    assert not running.any(), f"lanes {np.flatnonzero(running).tolist()} did not end in {RANDOM_STEPS} steps"
    assert changed, "the observation never changes"
    ended = Episodes.joined(tables)
    patient.reasons |= set(ended["reason"].tolist())
    return f"random policy: mean return {ended['return'].mean():.2f}, furthest x {ended['max_x'].max():.0f} (baseline)"


def not_a_stub(patient: Patient) -> str:
    world = patient.world()
    before = int(facts.x(world.state.console[0]))
    right = np.full((1, 1), world.buttons.index(BITS["RIGHT"]), np.int64)
    for _ in range(10):
        world.step({"player": right})
    assert int(facts.x(world.state.console[0])) > before, "RIGHT does not raise x"
    assert len(patient.reasons) >= 2, f"only ends by {[REASONS[one] for one in patient.reasons]} were seen"
    return f"RIGHT raises x; ends seen: {', '.join(REASONS[one] for one in sorted(patient.reasons))}"


def sameness(patient: Patient) -> str:
    from holdfast.worlds.check.lasting import lanes_are_independent, lanes_load_exactly
    from holdfast.worlds.check.repeated import seed_repeats
    from holdfast.worlds.check.subject import Subject

    for proof in (seed_repeats, lanes_load_exactly, lanes_are_independent):
        subject = Subject("mario", {"rom": patient.option}, lanes=4, steps=60, seed=3)
        try:
            proof(subject)
        finally:
            subject.close()
    return "same presses, same bytes; a loaded lane has the same future; a batch is its single lanes"


def rivals(patient: Patient) -> str:
    if patient.rom.path == OWN:
        return "not made: no ROM of the game"
    from holdfast.nes.doctor import rival_checks

    found = rival_checks(frames=200)
    wrong = [check for check in found if not check.passed]
    assert not wrong, "; ".join(f"{check.name}: {check.detail}" for check in wrong)
    return "; ".join(f"{check.name}: {check.detail}" for check in found)


CHECKS: dict[str, Callable[[Patient], str]] = {
    "boot": boot,
    "stages": stages,
    "death": death,
    "clock": clock,
    "timeout and stagnation": limits,
    "pause": pause,
    "life": life,
    "sameness": sameness,
    "lockstep": rivals,
}


def all_checks() -> dict[str, Callable[[Patient], str]]:
    from holdfast.games.mario.world.doctor_paths import PATH_CHECKS

    return {**CHECKS, **PATH_CHECKS, "not a stub": not_a_stub}


def doctor(rom: str = "", threads: int = 1) -> Iterator[Proof]:
    """Every check, one after the other."""
    patient = Patient(rom, threads)
    for name, check in all_checks().items():
        yield _proof(name, check, patient)


def _proof(name: str, check: Callable[[Patient], str], patient: Patient) -> Proof:
    from holdfast.worlds.check.subject import Broken

    try:
        return Proof(name, True, check(patient))
    except (AssertionError, Broken, HoldfastError) as error:  # the edge of the doctor: the text is the answer
        return Proof(name, False, str(error))


def doctor_or_own(rom: str) -> Iterable[Proof]:
    """The proofs on the ROM that is found; on the project's own cartridge where none is."""
    try:
        find_rom(rom)
    except RomNotFound as error:
        if rom or os.environ.get(VARIABLE):
            raise
        print(f"note: {error}\nnote: proving on the project's own cartridge instead", file=sys.stderr)
        rom = OWN
    return doctor(rom, threads=len(os.sched_getaffinity(0)))
