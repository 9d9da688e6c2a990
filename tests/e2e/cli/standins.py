# SPDX-License-Identifier: Apache-2.0
"""The stand-in model server as a child that is forked: a Python of its own would load the same modules again each time, a tenth
of a CPU second, and one file of tests starts up to a hundred of them."""

import gc
import os
import select
import signal
import sys
import traceback
import warnings


def serve(words, log):
    """In the child: nothing of the test's stays open, and what it prints goes to the log."""
    code = 70
    gc.freeze()  # what the test has no more use for is not closed here: its descriptors are others' soon
    warnings.simplefilter("ignore")
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for target, source in ((2, log), (0, null), (1, null)):
            os.dup2(source, target)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        sys.stderr = open(2, "w", buffering=1, closefd=False)
        from standin.cli import main
        code = main(words)
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


class Process:
    """What subprocess.Popen says of a child, as far as the tests ask."""

    def __init__(self, folder, words, log):
        """folder: that of standin.py; words: its arguments; log: a file, for what it prints."""
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
        import standin.cli  # noqa: F401: before the fork, once for all of them
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            serve([str(word) for word in words], log.fileno())

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout=None):
        if self.poll() is None:
            ended = os.pidfd_open(self.pid)
            try:
                if not select.select([ended], [], [], timeout)[0]:
                    raise TimeoutError("the stand-in does not end")
            finally:
                os.close(ended)
        return self.poll()
