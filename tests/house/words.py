# SPDX-License-Identifier: Apache-2.0
"""Identifiers use the field's terms: the names of the left were once ours and do not come back.

usage: words.py SOURCE_ROOT
"""

import re
import sys

import tree

# What an identifier of ours (th_, thole_, TH_) has as one of its words, and what it is called instead.
TERMS = {
    "past": "transcript",
    "outfit": "session_config",
    "dress": "switch_agent",
    "carry": "export or import",
    "kept": "provider_state, background, memory or cache",
    "told": "hook_info, or what it holds",
    "asking": "pending_callback",
    "askings": "pending_callbacks",
    "codes": "callbacks",
    "errand": "parent_call",
    "later": "defer_request",
    "odd": "rewritten",
    "hosted": "runtime_session",
    "ladder": "next_step",
    "doubt": "unresolved_effect",
    "doubts": "unresolved_effects",
    "scene": "effect_target",
    "choices": "resolved_models",
}
EXACT = {
    "th_look": "th_observation",
    "th_choice": "th_resolved_model",
    "th_person": "th_human_model",
    "th_executor_process": "th_executor_server",
    "th_executor": "th_executor_client (the struct)",
    "look_after": "guard_from",
    "look_seq": "guard_to",
    "kept_path": "background_path",
    "errand": "parent_call",
    "outfit": "session_config",
}
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*")
OURS = re.compile(r"^(?:th|thole|TH|THOLE)_")
# Names of the public API and of other terms that have such a word.
ALLOWED = {"TH_CODES", "TH_ASKED_LATER", "TH_SIM_LATER", "th_sim_later"}  # the first: of errors


def check(root):
    findings = []
    for path in tree.files(root, "src", "include", "tests", "bench", "examples"):
        if not path.endswith((".c", ".h")):
            continue
        for number, line in enumerate(tree.code(tree.read(root, path)).split("\n"), 1):
            for name in IDENTIFIER.findall(line):
                term = EXACT.get(name)
                if not term and OURS.match(name) and name not in ALLOWED:
                    term = next((TERMS[word] for word in name.lower().split("_")[1:] if word in TERMS), None)
                if term:
                    findings.append(f"{path}:{number}: {name}: the term is {term}")
    return findings


if __name__ == "__main__":
    tree.report(check(sys.argv[1]))
