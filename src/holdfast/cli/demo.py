"""`holdfast demo`: train the fish school, print how well it survives, film one episode, write the report."""

from __future__ import annotations

from holdfast.api.training import train
from holdfast.worlds.ours import DEMO


def demo(options: list[str], quiet: bool) -> int:
    """The main job from start to finish; the exit status of its run."""
    run = train(DEMO, options, quiet=quiet)
    if run.result.outcome == "interrupted":
        return run.result.exit_status
    print("filming one held-out episode ...", flush=True)
    print(f"video:  {run.film()}")
    print(f"report: {run.report()}")
    return run.result.exit_status
