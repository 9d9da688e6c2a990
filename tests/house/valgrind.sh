#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# valgrind.sh THOLE: one whole run (the demo: a private desktop, the scripted model, the log) with every process of the
# program under valgrind; the system's own programs, such as Xvfb, are left alone. No error, no leak.
set -euo pipefail
thole=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"/{logs,home,runtime}
# The executor gives up root before it starts what it watches, and each process opens its own log.
chmod 755 "$folder"
chmod 1777 "$folder/logs"
chmod 700 "$folder/runtime"
export HOME=$folder/home XDG_STATE_HOME=$folder/home/state XDG_RUNTIME_DIR=$folder/runtime XDG_CONFIG_HOME=$folder/home/config
status=0
valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite,possible --show-leak-kinds=definite,possible \
	--error-exitcode=99 --child-silent-after-fork=yes --trace-children=yes --trace-children-skip='/usr/*,/bin/*,/sbin/*' \
	--log-file="$folder/logs/%p" "$thole" demo -C "$folder/demo" || status=$?
for log in "$folder"/logs/*; do
	# "--PID--" is valgrind about itself: system calls that it does not know, and answers with ENOSYS.
	if grep -v '^--[0-9]*--' "$log"; then
		status=1
	fi
done
echo "$(ls "$folder/logs" | wc -l) processes"
exit "$status"
