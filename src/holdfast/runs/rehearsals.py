"""Which rehearsal a run has: `runs/rehearse.py` with the parts of its own world."""

from __future__ import annotations

from holdfast.config.sections import Config
from holdfast.runs.rehearse import Company, Rehearsal, rehearse
from holdfast.runs.watch import Watch
from holdfast.train import Training


def company_of(config: Config, watch: Watch) -> Company:
    if config.duel.mode != "off":
        from holdfast.selfplay.rehearsal import duel_company

        return duel_company(watch)
    if config.world_name == "fish":
        from holdfast.games.fish.rehearsal import school_company

        return school_company(watch)
    if config.world_name == "mario":
        from holdfast.games.mario.rehearsal import stage_company

        return stage_company(watch)
    return Company(
        shrink=lambda whole, mini: mini,
        make=lambda mini, run: Training(mini, run, watch),
        features=lambda mini, run: [],
    )


def rehearse_run(config: Config, watch: Watch) -> Rehearsal:
    return rehearse(config, company_of(config, watch))
