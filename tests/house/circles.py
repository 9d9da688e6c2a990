# SPDX-License-Identifier: Apache-2.0
"""Files of one layer that call each other in a circle, seen by nm: none but those of the list.

usage: circles.py LIB...

Files in a circle can only be read, tested and linked together.  A new circle, or a file that joins one, is a finding:
call in one direction, hand over a callback, or put what both need in a third file.  Where that would cost more than the
circle, the list says why in one line.  What left its circle leaves the list as well, so that it cannot come back unseen.
"""

import re
import subprocess
import sys

import tree

# (layer, files, why they call each other)
ALLOWED = [
    ("base", "buf err text", "a failed allocation is an error with a text, and a text is made in a buffer"),
    ("base", "json json_write", "a writer copies parsed values, and a parsed document takes numbers the writer's way"),
    ("core", "session session_analysis session_background session_budget session_call session_control session_delegate session_due session_events session_guard session_hook session_host session_items session_judge session_server session_team session_turn", "one step function in parts: each kind of event may change the state, and every state says what is due"),
    ("mcp", "call task", "a call becomes a task while it is under way, and the result of a task is its call's"),
    ("mcp", "http http_exchange http_old", "a message shows that its server is an older one, where it is sent again and brings the others"),
    ("google_gemini", "group results", "results stand inside the group of their calls, and are named by it"),
    ("profiles", "list open profiles", "a model on somebody's server is found by two patterns: the server's, then the family's"),
    ("openai_responses", "back request result", "items hold results, and results hold items of content"),
    ("driver", "calls delegate delegate_background delegate_end delegate_task delegate_wait driver effects inputs live_make open person", "a call may be the work of a child session, and each session has calls: who opens, stops or ends one does it to the other"),
    ("io", "fetch fetch_answer fetch_curl", "curl calls back into the request whose transfer it runs"),
    ("sqlite", "append lease list read remove sqlite sweep text usage verify verify_tables walk write", "sqlite.c is the table of functions of the others, which get the database from it"),
    ("browser", "events files sessions tabs wire", "events are answered by commands, and a command waits no longer when its tab tells that it cannot answer"),
    ("x11", "clipboard damage input keyboard keymap pixels pointer see slots x11", "x11.c owns the connection, and passes its events on to the parts that wait on it"),
    ("script", "script script_lib script_match script_pattern script_string script_value", "script.c opens the libraries, and each of their functions charges the script's budget"),
    ("exec_client", "calls client far link", "calls wait for the link, here or to another machine, and the link's end concludes the calls"),
    ("egress", "flow flow_want", "one connection in two parts: what it wants is decided, then its bytes are passed on or its refusal is said"),
    ("runtime", "children effects runtime sessions", "runtime.c is the table of functions for the driver, and each finds its session there"),
    ("runtime", "human_model human_model_http", "the page shows the questions, and its answers are theirs"),
    ("api", "ask call computing control hooks runtime session team watchers", "handles count references to each other, and all tell the application through one inbox"),
    ("sessions_api", "hold screen", "a person holds the desktop through a socket that shows it, and the socket tells who holds it"),
    ("sim", "children faults people runtime runtime_world task team world", "the world moves its parts, and every part schedules in the world"),
    ("sim", "effects executor ledger", "the simulated executor, cut as the real one is"),
    ("cli", "completion help main", "help and completion print the table that they are rows of"),
]


def nm(*arguments):
    """(member, symbol) pairs of an archive; a member is its source's name: src_wire_sse.c.o or sse.c.o is sse."""
    out = subprocess.run(["nm", "-A", "-P", *arguments], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        where, _, rest = line.partition(": ")
        member = re.search(r"\[(?:.*/)?([^/\]]+?)\.c\.o\]$", where)
        yield member[1], rest.split()[0]


def calls(lib, layer):
    """file -> {file that it calls: one symbol that it calls there}"""

    def name(member):
        return member.removeprefix(f"src_{layer}_")

    owner = {symbol: name(member) for member, symbol in nm("-g", "--defined-only", lib)}
    graph = {file: {} for file in owner.values()}
    for member, symbol in nm("-u", lib):
        caller, callee = name(member), owner.get(symbol)
        if callee and callee != caller:
            graph.setdefault(caller, {}).setdefault(callee, symbol)
    return graph


def reached(graph, start):
    seen, rest = set(), [start]
    while rest:
        for file in graph[rest.pop()]:
            if file not in seen:
                seen.add(file)
                rest.append(file)
    return seen


def circles(graph):
    """The sets of files that reach each other."""
    reach = {file: reached(graph, file) for file in graph}
    return {frozenset(other for other in reach[file] if file in reach[other]) for file in graph if file in reach[file]}


def way_round(graph, start):
    """The shortest way from a file back to it, with one symbol of each call."""
    ways, seen = [[start]], set()
    while start not in graph[ways[0][-1]]:
        way = ways.pop(0)
        for file in sorted(graph[way[-1]].keys() - seen):
            seen.add(file)
            ways.append(way + [file])
    way = ways[0] + [start]
    return ", ".join(f"{a} calls {b} ({graph[a][b]})" for a, b in zip(way, way[1:]))


def check(libs, allowed=ALLOWED):
    findings = []
    for lib in libs:
        layer = re.search(r"libth_(\w+)\.a$", lib)[1]
        rows = [set(files.split()) for row_layer, files, _ in allowed if row_layer == layer]
        graph = calls(lib, layer)
        found = circles(graph)
        for circle in sorted(found, key=sorted):
            row = max(rows, key=lambda files: len(files & circle), default=set())
            if not circle <= row:
                new = sorted(circle - row)
                findings.append(
                    f"src/{layer}: {' '.join(new)}: in a circle that tests/house/circles.py does not allow: "
                    + way_round(graph, new[0])
                )
        for row in rows:
            for file in sorted(row - set().union(*found)):
                findings.append(f"src/{layer}: {file} is in no circle any more: take it off the list in tests/house/circles.py")
    return findings


if __name__ == "__main__":
    tree.report(check(sys.argv[1:]))
