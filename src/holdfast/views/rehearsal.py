"""What a rehearsal found, as a table or as JSON; the exit status says whether every feature fired."""

from __future__ import annotations

import json

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from holdfast.config.reading import load_config
from holdfast.rehearsal import rehearse_run
from holdfast.views.dry_run import checked_spec
from holdfast.views.terminal import Quiet


def show_rehearsal(target: str, options: list[str], as_json: bool) -> int:
    """0 when every enabled feature fired and had an effect, 1 when one did not."""
    config, explicit = load_config(target, options)
    checked_spec(config, explicit)
    found = rehearse_run(config, Quiet())
    if as_json:
        print(json.dumps({"target": target, **found.to_json()}))
        return 1 if found.missing else 0
    console = Console()
    table = Table("feature", "fired", "seen")
    for feature in found.features:
        table.add_row(feature.name, "yes" if feature.fired else "[bold red]no[/bold red]", escape(feature.evidence))
    console.print(table)
    if found.missing:
        console.print(f"rehearsal failed: {', '.join(found.missing)}", style="bold red", highlight=False)
    else:
        console.print(f"rehearsal passed in {found.seconds:.1f} s: every enabled feature fired", style="bold green")
    return 1 if found.missing else 0
