"""Which rehearsal a run has: `runs/rehearse.py` with the parts of its own world."""

from __future__ import annotations

from holdfast.config.sections import Config
from holdfast.runs.rehearse import Company, Rehearsal, rehearse
from holdfast.runs.watch import Watch
from holdfast.train import Training
from holdfast.worlds.registry import game_of


def company_of(config: Config, watch: Watch) -> Company:
    if config.duel.mode != "off":
        from holdfast.selfplay.rehearsal import duel_company

        return duel_company(watch)
    rehearsal = game_of(config).rehearsal
    if rehearsal is not None:
        made: Company = rehearsal(watch)
        return made
    return Company(
        shrink=lambda whole, mini: mini,
        make=lambda mini, run: Training(mini, run, watch),
        features=lambda mini, run: [],
    )


def rehearse_run(config: Config, watch: Watch) -> Rehearsal:
    return rehearse(config, company_of(config, watch))
