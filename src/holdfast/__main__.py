"""`python -m holdfast` is `holdfast`: the working folder, which Python puts in front of its path, is left out again.

A file that happens to lie there must not take the place of a package. Worlds of the user's own are still found, when
they are named (`worlds.trust`).
"""

import os
import sys

if sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

from holdfast.cli.command import main

main()
