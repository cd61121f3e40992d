#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every rule file of the conformance suite, and the rule pack: verified, printed, read back, equal.  usage: test_round_trip.py PROBE"""
import glob
import os
import subprocess
import sys

shared = os.environ.get('REDAN_SHARED') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../../shared')
files = sorted(glob.glob(os.path.join(shared, 'conformance', '**', '*.rdn'), recursive=True) + glob.glob(os.path.join(shared, 'riskpack', '*.rdn')))
if not files:
    print('skipped: no conformance suite; set REDAN_SHARED')
    sys.exit(77)
p = subprocess.run([sys.argv[1]] + files, capture_output=True, text=True)
print(p.stdout, p.stderr)
good = int(p.stdout.rsplit('\n', 2)[-2].split()[0]) if p.returncode == 0 else 0
sys.exit(0 if good >= 100 else 1)                        # about half of the files are rule sets, the others have errors on purpose
