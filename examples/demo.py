"""The main job from start to finish: train the fish school, print how well it survives, film it, write the report.

python examples/demo.py [--section.key value ...]

The same as `holdfast demo`, which an installed package has too.
"""

from __future__ import annotations

import sys

from holdfast.cli.main import main

if __name__ == "__main__":
    main(["demo", *sys.argv[1:]])
