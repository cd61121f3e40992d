#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs leaks.py under Debian's python3.11-dbg: run_leaks.py BUILD. Exit 77 without it. The last line is `N passed, N failed`."""
import os
import pathlib
import shutil
import subprocess
import sys

import interpreters

build, debug = pathlib.Path(sys.argv[1]).resolve(), shutil.which('python3.11-dbg')
if not debug:
    interpreters.skip('no python3.11-dbg (the Debian package of that name)')
env = {**os.environ, 'PYTHONPATH': str(build / 'python/tests'), 'REDAN_WORKER': str(build / 'plugins/redan-worker'), 'PYTHONDONTWRITEBYTECODE': '1'}
sys.exit(subprocess.run([debug, pathlib.Path(__file__).parent / 'leaks.py'], env=env).returncode)
