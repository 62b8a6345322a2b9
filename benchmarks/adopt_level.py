"""Put the policy of a finished run on the shelf of levels: python benchmarks/adopt_level.py RUN STAGE

It is judged on 100 held-out episodes like those of `holdfast train mario-levels`; its row says which preset made it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.games.mario.series import adopt
from holdfast.runs.folder import RunFolder
from holdfast.runs.shelf import shelves

RESULTS = Path(__file__).resolve().parent / "results" / "mario_levels"
EPISODES = 100


if __name__ == "__main__":
    folder, stage = sys.argv[1:]
    print(adopt(RESULTS, RunFolder(Path(folder)), stage, "latest", EPISODES, shelf=shelves()[0]))
