"""The main job from start to finish: train the fish school, print how well it survives, film it, write the report.

python examples/demo.py [--section.key value ...]
"""

from __future__ import annotations

import sys

from holdfast.config.checks import check_against_world
from holdfast.config.reading import load_config
from holdfast.runs.folder import command_line, create_run
from holdfast.train import train
from holdfast.views.dry_run import spec_of
from holdfast.views.judge import Film, film, find_policy
from holdfast.views.report import write_report
from holdfast.views.terminal import make_watch


def main(options: list[str]) -> None:
    config, explicit = load_config("fish", options)
    check_against_world(config, explicit, spec_of(config))
    run = create_run(config, "fish", command_line())
    result = train(config, run, make_watch(quiet=False))
    if result.outcome == "interrupted":
        sys.exit(result.exit_status)
    print("filming one held-out episode ...", flush=True)
    video = film(find_policy(run.name, config.run.root), Film())
    print(f"video:  {video}")
    print(f"report: {write_report(run.folder)}")


if __name__ == "__main__":
    main(sys.argv[1:])
