# SPDX-License-Identifier: Apache-2.0
"""long.py PROGRAM [ARGUMENT...]: a test that is for TH_TORTURE alone."""

import os
import sys

if not os.environ.get("TH_TORTURE"):
    print("not run: it takes minutes; TH_TORTURE=1 runs it")
    sys.exit(77)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
