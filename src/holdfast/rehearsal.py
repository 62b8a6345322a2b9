"""Which rehearsal a run has: `runs/rehearse.py` with the parts of its own game, played by the run's own loop."""

from __future__ import annotations

from holdfast.config.sections import Config
from holdfast.run import unprepared
from holdfast.runs.rehearse import Company, Rehearsal, rehearse
from holdfast.runs.watch import Watch
from holdfast.train import resume, train
from holdfast.worlds.registry import game_of


def company_of(config: Config) -> Company:
    """What the kind of a run brings to its rehearsal."""
    if config.duel.mode != "off":
        from holdfast.selfplay.rehearsal import duel_company

        return duel_company()
    rehearsal = game_of(config).rehearsal
    if rehearsal is not None:
        made: Company = rehearsal()
        return made
    return Company(shrink=lambda whole, mini: mini, prepare=unprepared, features=lambda mini, run: [])


def rehearse_run(config: Config, watch: Watch) -> Rehearsal:
    return rehearse(
        config,
        company_of(config),
        start=lambda mini, folder, prepare: train(mini, folder, watch, prepare),
        go_on=lambda mini, folder, prepare: resume(mini, folder, watch, prepare=prepare),
    )
