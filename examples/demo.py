"""The main job from start to finish: train the fish school, print how well it survives, film it, write the report.

python examples/demo.py [--section.key value ...]

The same as `holdfast demo`, which an installed package has too.
"""

from __future__ import annotations

import sys

import holdfast as hf

if __name__ == "__main__":
    run = hf.train("fish", sys.argv[1:])
    if run.result.outcome == "interrupted":
        sys.exit(run.result.exit_status)
    print("filming one held-out episode ...", flush=True)
    print(f"video:  {run.film()}")
    print(f"report: {run.report()}")
