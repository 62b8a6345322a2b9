"""`exploit` and `crossplay`: how far a frozen pair can be beaten, and who beats whom, as tables, JSON and pictures."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

from rich.console import Console
from rich.table import Table

from holdfast.kit.errors import ConfigError, UnknownName, nearest
from holdfast.runs.folder import RunFolder
from holdfast.runs.reopen import config_of, load_checkpoint
from holdfast.selfplay.certificate import case_of, certify
from holdfast.selfplay.crossplay import crossplay, draw_matrix, gallery_of, read_book
from holdfast.selfplay.response import Gain
from holdfast.views.certificate import print_response
from holdfast.views.dry_run import spec_of


def exploit(
    run: RunFolder, role: str, checkpoint: str, steps: int | None, duels: int | None, power: bool, as_json: bool
) -> int:
    """Challengers learn against the frozen pair; 0 whatever they find, since a gap is a result and not a failure."""
    config = config_of(run)
    saved = load_checkpoint(run, checkpoint)
    book, _ = read_book(saved)
    asked = {name: value for name, value in (("steps", steps), ("duels", duels)) if value is not None}
    problems = [f"--{name} {value}: must be at least 1" for name, value in asked.items() if value < 1]
    if problems:
        raise ConfigError(problems)
    if duels is not None:
        config = replace(config, response=replace(config.response, duels=duels))
    spec = spec_of(config)
    names = [one.name for one in spec.roles]
    if role != "both" and role not in names:
        raise UnknownName(f"no role {role!r}{nearest(role, names)}; there are {', '.join(names)} and both")
    chosen = tuple(number for number, name in enumerate(names) if role in ("both", name))

    def tell(who: str, gain: Gain) -> None:
        print(f"{who}: {gain.steps:,} steps, wins {gain.rate:.3f}", file=sys.stderr, flush=True)

    found = certify(case_of(config, spec, book, saved.arrays, steps), chosen, power, tell)
    found["checkpoint"] = saved.name
    run.write_json(f"evals/response-{saved.name}-{role}.json", found)
    if as_json:
        print(json.dumps({"run": str(run.folder), **found}))
    else:
        print_response(found, Console())
    return 0


def show_crossplay(runs: list[RunFolder], duels: int, as_json: bool) -> int:
    """The matrix over the milestones of all these runs, of one world."""
    config = config_of(runs[0])
    others = [run.name for run in runs[1:] if config_of(run).world != config.world]
    if others:
        raise ConfigError([f"crossplay: {name} was trained in another world than {runs[0].name}" for name in others])
    galleries = [gallery_of(run.name, load_checkpoint(run, "latest")) for run in runs]
    found, learned = crossplay(config, galleries, duels)
    facts = found.facts(learned)
    names = [one.name for one in spec_of(config).roles]
    picture = draw_matrix(found, (names[0], names[1]), runs[0].folder / "media" / "crossplay.png")
    runs[0].write_json("evals/crossplay.json", facts)
    if as_json:
        print(json.dumps({**facts, "picture": str(picture)}))
        return 0
    console = Console()
    title = f"wins of the {names[0]} in per cent, against each {names[1]}"
    table = Table("", "rating", title=title, box=None, padding=(0, 1, 0, 0))
    table.columns[0].min_width, table.columns[1].min_width = max(map(len, found.rows)), len("rating")
    for number in range(len(found.columns)):
        table.add_column(str(number + 1), justify="right", min_width=3)
    for name, row in zip(found.rows, found.rates, strict=True):
        table.add_row(name, f"{facts['row_ratings'][name]:+.0f}", *(f"{rate:.0%}"[:-1] for rate in row))
    console.print(table)
    console.print(", ".join(f"{number + 1} {name}" for number, name in enumerate(found.columns)), highlight=False)
    console.print(
        f"value {facts['value']:.3f}; circles in {facts['circular_share']:.0%} of pairs; the newest pair can be beaten "
        f"by at least {facts['newest_gap_at_least']:.3f} from within this table",
        highlight=False,
    )
    console.print(f"picture: {picture}", highlight=False)
    return 0
