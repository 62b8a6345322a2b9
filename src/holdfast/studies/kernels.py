"""Does this machine have the kernels of a study compiled? Otherwise its first run starts alone and compiles them.

Starting one run alone does nothing that would not be done anyway. A warm-up of its own would compile just as long and
then throw away what it did; all runs at once would compile the learner's kernels side by side, once each.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import holdfast
from holdfast.kit.compiled import SETTINGS, cache_folder
from holdfast.studies.plan import Plan


class Kernels:
    """A mark beside the compiled kernels of this Holdfast for what a study runs."""

    def __init__(self, plan: Plan) -> None:
        what = json.dumps(
            [plan.targets, plan.options, plan.grid, str(plan.search), str(plan.population)], sort_keys=True
        )
        digest = hashlib.sha256(what.encode()).hexdigest()[:16]
        source = Path(holdfast.__file__).with_name("train.py")  # its folder changes with anything that it imports
        self.mark = cache_folder(source) / f"studied-{digest}"

    @property
    def known(self) -> bool:
        return SETTINGS.DISABLE_JIT or self.mark.exists()

    def remember(self) -> None:
        self.mark.touch()
