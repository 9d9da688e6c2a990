#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh TARGET SEEDS...: one libFuzzer target for FUZZ_SECONDS, from FUZZ_SEED (0: another one each time). What it finds on the
# way is thrown away; an input that breaks it stays in the build folder, and its name is printed by libFuzzer. Its own status for that, 77, is Meson's word
# for skipped.
set -euo pipefail
target=$1
shift
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
seeds=()
for folder in "$@"; do
	[ ! -d "$folder" ] || seeds+=("$folder")
done
"$target" -seed="${FUZZ_SEED:-0}" -max_total_time="${FUZZ_SECONDS:-10}" -timeout=10 -error_exitcode=1 -rss_limit_mb=2048 \
	-max_len=65536 -print_final_stats=1 -verbosity=1 -artifact_prefix="$BUILD_DIR/$(basename "$target")-" "$corpus" "${seeds[@]}"
