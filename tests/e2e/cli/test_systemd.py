# SPDX-License-Identifier: Apache-2.0
"""The unit under a real systemd, which is process 1 of namespaces of its own, on a root that is written to nowhere else."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import house

UNIT = house.BUILD / "docs" / "thole.service"
CGROUPS = [pathlib.Path(line.split()[1]) for line in pathlib.Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "cgroup2"]
SYSTEMD = "/lib/systemd/systemd"
MASKED = ("dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount systemd-udevd.service systemd-journald.service "
          "systemd-journald.socket systemd-journald-dev-log.socket systemd-logind.service systemd-networkd.service systemd-resolved.service "
          "network-online.target").split()
BOOT = r"""
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1" && mkdir "$1/u" "$1/w" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/u,workdir=$1/w" "$1/root"
cd "$1/root"
rm -rf etc/systemd/system/*.wants
mkdir -p "$(dirname "$4")" etc/thole/agents
cp "$2" "$4" && chmod 755 "$4"
cp "$3" etc/systemd/system/thole.service
cp "$5" usr/lib/sysusers.d/thole.conf
printf 'model: gpt-5.4\n' > etc/thole/config.yaml
for unit in $6; do ln -sf /dev/null "etc/systemd/system/$unit"; done
printf '[Unit]\nAllowIsolate=yes\nRequires=trial.service\n' > etc/systemd/system/trial.target
printf '[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nExecStart=/bin/sh /trial\nStandardOutput=file:/told\nStandardError=file:/told
ExecStopPost=/bin/systemctl exit 0\n' > etc/systemd/system/trial.service
printf '%s' "$7" > trial
: > told && mount --bind "$8" told
mount -t proc proc proc
mount -t tmpfs tmpfs dev && mkdir dev/shm dev/pts
for node in null zero full random urandom tty; do : > "dev/$node" && mount --bind "/dev/$node" "dev/$node"; done
mount -t tmpfs tmpfs run
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
exec chroot . /usr/bin/env -i container=trial PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --system --unit=trial.target --log-target=null --show-status=no
"""
TRIAL = r"""
ip link set lo up
systemd-sysusers
systemctl start thole && echo started
look() { curl -s -m 10 "http://127.0.0.1:7711$1"; echo; }
look /healthz
as() { setpriv --reuid thole --regid thole --clear-groups env HOME=/var/lib/thole XDG_STATE_HOME=/var/lib XDG_CONFIG_HOME=/etc XDG_RUNTIME_DIR=/run/thole "$@"; }
token=$(as thole token new alice)
curl -s -m 10 -H "Authorization: Bearer $token" http://127.0.0.1:7711/api/me; echo
systemctl reload thole && echo reloaded
look /readyz
first=$(systemctl show thole -p MainPID --value)
kill -9 "$first"
systemctl show thole -p Result
for i in 1 2 3 4 5 6 7 8 9 10; do [ "$(systemctl show thole -p NRestarts --value)" = 1 ] && systemctl is-active -q thole && break; sleep 0.5; done
systemctl show thole -p NRestarts
look /healthz
systemctl stop thole && echo stopped
systemctl show thole -p ActiveState,Result,ExecMainStatus
"""


def missing():
    """Why there can be none here; empty: there can."""
    if os.geteuid() != 0:
        return "only root can make such namespaces"
    if not CGROUPS:
        return "no second version of cgroups is mounted"
    for program in (SYSTEMD, "unshare", "curl", "setpriv", "ip", "systemd-sysusers"):
        if not shutil.which(program):
            return "it needs " + program
    tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--cgroup", "--ipc", "--uts", "--net", "sh", "-c",
                            "mount --make-rprivate / && mount -t tmpfs t /mnt && mkdir /mnt/u /mnt/w /mnt/r && "
                            "mount -t overlay o -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w /mnt/r && mount -t sysfs s /mnt/r/sys && mount -t cgroup2 c /mnt/r/sys/fs/cgroup"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
    return "" if tried.returncode == 0 else "its namespaces cannot be had here"


class Systemd(unittest.TestCase):
    def test_the_unit(self):
        why = missing()
        if why:
            self.skipTest(why)
        group = CGROUPS[0] / ("thole-trial-%d" % os.getpid())
        group.mkdir()
        with tempfile.TemporaryDirectory() as folder:
            told, root = pathlib.Path(folder) / "told", pathlib.Path(folder) / "root"
            told.touch()
            root.mkdir()
            where = next(line for line in UNIT.read_text().splitlines() if line.startswith("ExecStart=")).split("=", 1)[1].split()[0]
            users = house.SOURCE / "docs" / "thole.sysusers"
            join = 'echo $$ > "$0/cgroup.procs" && exec unshare --mount --pid --fork --kill-child --cgroup --ipc --uts --net sh -c "$@"'
            try:
                subprocess.run(["sh", "-c", join, str(group), BOOT, "boot", str(root), house.THOLE, str(UNIT), where.lstrip("/"), str(users),
                                " ".join(MASKED), TRIAL, str(told)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120, check=False)
                lines = told.read_text().splitlines()
            finally:
                for path in sorted(group.rglob("*"), reverse=True):
                    if path.is_dir():
                        path.rmdir()
                group.rmdir()
        for line in ("started", '{"status":"ok"}', "reloaded", '{"status":"ready"}', "NRestarts=1", "stopped", "ActiveState=inactive",
                     "Result=success", "ExecMainStatus=0"):
            self.assertIn(line, lines)
        self.assertEqual(lines.count('{"status":"ok"}'), 2, lines)
        self.assertTrue(any('"user":"alice"' in line for line in lines), lines)


if __name__ == "__main__":
    house.main()
