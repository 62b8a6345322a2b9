"""`holdfast demo`: train the fish school, print how well it survives, film one episode, write the report."""

from __future__ import annotations

from holdfast.config.reading import load_config
from holdfast.runs.folder import command_line, create_run
from holdfast.train import train
from holdfast.views.dry_run import checked_spec
from holdfast.views.judge import Film, film, find_policy
from holdfast.views.report import write_report
from holdfast.views.terminal import make_watch
from holdfast.worlds.ours import DEMO


def demo(options: list[str], quiet: bool) -> int:
    """The main job from start to finish; the exit status of its run."""
    config, explicit = load_config(DEMO, options)
    checked_spec(config, explicit)
    run = create_run(config, DEMO, command_line())
    result = train(config, run, make_watch(quiet))
    run.unlock()
    if result.outcome == "interrupted":
        return result.exit_status
    print("filming one held-out episode ...", flush=True)
    video = film(find_policy(run.name, config.run.root), Film())
    print(f"video:  {video}")
    print(f"report: {write_report(run.folder)}")
    return result.exit_status
