# SPDX-License-Identifier: GPL-2.0-only
"""A program at a terminal that asks for a line, does its deed, and says so: as shells of databases and interpreters do."""
import os
import readline  # noqa: F401 (it echoes what is typed)
import sys

import deeds

deed = os.environ.get('DESK_DEED', '')
deeds.warm(deed)
n = 0
while True:
    try:
        input('> ')
    except EOFError:
        sys.exit(0)
    n += 1
    deeds.do(deed)
    print('=' * 60, n, flush=True)
