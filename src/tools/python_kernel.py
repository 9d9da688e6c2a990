# SPDX-License-Identifier: Apache-2.0
#
# The kernel of the tool `python` (python.c): one IPython that runs cells as they come and keeps what they made.
#
# Descriptor 3 gives "WORD\0CELL\0"; on 4 goes "WORD STATUS REPORT\0" when the cell has ended, and on the terminal the
# word in an escape sequence, so that all that the cell printed has been read by then.  Programs that a cell starts have
# neither descriptor.  Status: 0 it ended, 1 it raised, 2 it could not begin.  The report has what is no text: pictures.
import base64
import json
import os
import signal
import sys

PICTURES_MAX = 7
PICTURE_SIZE_MAX = 5 << 20
KINDS = ("image/png", "image/jpeg")

commands, ends = 3, os.dup(4)
os.close(4)
terminal = os.dup(1)
os.set_inheritable(commands, False)
try:  # a group of our own: an interrupt is for us and what the cell started, not for what confines us
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(terminal, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
except OSError:
    pass  # on a desktop we are alone in a session already
nothing = os.open(os.devnull, os.O_RDONLY)
os.dup2(nothing, 0)  # nobody answers input()
os.close(nothing)
sys.stdin = open(0, encoding="utf-8", closefd=False)
os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
missing = ""
try:
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.error import UsageError
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.core.profiledir import ProfileDir
    from traitlets.config import Config
except ImportError as reason:
    missing = str(reason)
pictures = []


def keep(data):
    """Takes the picture of a display, and says whether it had one."""
    kind = next((k for k in KINDS if k in data), None)
    if kind is None:
        return False
    raw = data[kind]
    raw = base64.b64decode(raw) if isinstance(raw, str) else bytes(raw)
    if len(raw) > PICTURE_SIZE_MAX:
        print(f"[a picture of {len(raw)} bytes is not shown: at most {PICTURE_SIZE_MAX}]")
    elif len(pictures) == PICTURES_MAX:
        print(f"[a picture is not shown: at most {PICTURES_MAX} of a cell are]")
    else:
        pictures.append({"media_type": kind, "data": base64.b64encode(raw).decode()})
        print(f"[picture {len(pictures)}]")
    return True


def make_shell():
    class Publisher(DisplayPublisher):
        def publish(self, data, *args, **kwargs):
            if not keep(data) and "text/plain" in data:
                print(data["text/plain"])

        def clear_output(self, wait=False):
            pass

    class Hook(DisplayHook):
        def write_format_data(self, format_dict, md_dict=None):
            if keep(format_dict):
                return
            super().write_format_data(format_dict, md_dict)

    class Profile(ProfileDir):
        """Writes nothing anywhere."""

        def _location_changed(self, change=None):
            pass

        def check_dirs(self):
            pass

        def check_folder(self, change=None):
            pass

        check_log_dir = check_startup_dir = check_security_dir = check_pid_dir = check_static_dir = check_folder

    class Shell(InteractiveShell):
        displayhook_class = Hook
        display_pub_class = Publisher

        def ask_exit(self):
            print("[the kernel lives on; the argument `restart` begins it anew]")

        def enable_gui(self, gui=None):
            pass

    config = Config()
    config.HistoryManager.enabled = False
    shell = Shell.instance(config=config, ipython_dir="/", profile_dir=Profile(), colors="NoColor")
    shell.display_formatter.active_types = ["text/plain", *KINDS]

    def installs(line=""):
        raise UsageError("packages are installed by the tool python_install, which a person approves")

    for name in ("pip", "conda", "mamba"):
        shell.register_magic_function(installs, "line", name)
    return shell


def take():
    """The next word and cell; None when nobody gives any more."""
    parts, have = [], b""
    while len(parts) < 2:
        while b"\0" not in have:
            chunk = os.read(commands, 65536)
            if not chunk:
                return None
            have += chunk
        part, have = have.split(b"\0", 1)
        parts.append(part.decode("utf-8", "replace"))
    return parts


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # the cell closed or replaced it
            pass


running = False


def on_interrupt(number, frame):
    if running:
        raise KeyboardInterrupt


def run(shell, cell):
    global running
    status = 1
    try:
        running = True
        status = 0 if shell.run_cell(cell, store_history=True).success else 1
    except KeyboardInterrupt:
        print("KeyboardInterrupt")
    except BaseException as reason:
        shell.showtraceback((type(reason), reason, reason.__traceback__))
    finally:
        running = False
    return status


def main():
    signal.signal(signal.SIGINT, on_interrupt)
    shell = None if missing else make_shell()
    kernel = os.getpid()
    # What IPython needs is loaded by now; from here on modules of the workspace are found too.
    more = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    sys.path[:0] = ["", *more]
    sys.path.append(os.path.join(os.getcwd(), ".thole-python"))
    sys.argv[:] = [""]
    while (job := take()) is not None:
        word, cell = job
        pictures.clear()
        status = run(shell, cell) if shell else 2
        if os.getpid() != kernel:
            os._exit(0)  # the cell forked, and the copy came back: it is not the kernel
        flush()
        report = {"missing": missing} if missing else {"count": shell.execution_count - 1, "pictures": pictures}
        write_all(ends, f"{word} {status} {json.dumps(report)}\0".encode())
        write_all(terminal, f"\33]7770;{word}\a".encode())


main()
