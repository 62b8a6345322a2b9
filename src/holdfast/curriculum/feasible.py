"""The check before a run, for any world that has one."""

from __future__ import annotations

from holdfast.config.sections import Config
from holdfast.curriculum.findings import Report
from holdfast.kit.errors import ConfigError, Infeasible
from holdfast.worlds.registry import game_of


def check_run(config: Config) -> Report | None:
    """What is known about a run's gate before it starts; None where there is no gate."""
    game = game_of(config)
    return game.feasibility(config) if game.feasibility is not None and config.gate.enabled else None


def refuse_infeasible(config: Config, report: Report | None) -> None:
    """Infeasible, with every reason and its smallest repair, unless the configuration accepts it."""
    if report is None or report.feasible or config.gate.accept_infeasible:
        return
    reasons = []
    for finding in report.findings:
        if finding.severity == "infeasible":
            repair = f" Repair: {finding.repair.spelled} ({finding.repair.text})" if finding.repair else ""
            reasons.append(f"  - {finding.code}: {finding.text}.{repair}")
    raise Infeasible(
        "this gate cannot open, so the run cannot succeed:\n"
        + "\n".join(reasons)
        + "\nsee holdfast gate check for all findings; --gate.accept_infeasible true trains all the same"
    )


def require_gate(config: Config) -> Report:
    report = check_run(config)
    if report is None:
        raise ConfigError(
            [
                f"there is no gate to check: world.name is {config.world_name}, gate.enabled is "
                f"{str(config.gate.enabled).lower()}; only a run with gate.enabled = true has one"
            ]
        )
    return report
