# SPDX-License-Identifier: Apache-2.0
"""context_plot.py - docs/context-tokens.svg: the tokens of each request of a session of 2,100 turns, by condenser.

usage: context_plot.py BENCH_CONTEXT [FILE]      BENCH_CONTEXT is bench/context.c, built
"""

import json
import subprocess
import sys

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 300, 60, 20, 20, 40
TOKENS = 40000
ROWS = [("", "nothing", "#888888"), ("observation_masking", "observation_masking", "#b07000"), ("recent", "recent", "#90c0f0"), ("summary", "summary", "#107030")]


def points(program, condenser):
    out = subprocess.run([program, "mode=turns", "points=1", "condenser=" + condenser], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def x(turn, count):
    return LEFT + (WIDTH - LEFT - RIGHT) * turn / count


def y(tokens):
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(tokens, TOKENS) / TOKENS


def line(list_, colour, width):
    """Every 20th turn, and where it falls; up to where it leaves the picture."""
    shown = []
    for i, tokens in enumerate(list_):
        falls = i + 1 < len(list_) and list_[i + 1] < tokens or i > 0 and tokens < list_[i - 1]
        if i % 20 == 0 or falls:
            shown.append("%.0f,%.0f" % (x(i, len(list_)), y(tokens)))
        if tokens > TOKENS:
            break
    return '<polyline fill="none" stroke="%s" stroke-width="%s" points="%s"/>' % (colour, width, " ".join(shown))


def text(at_x, at_y, words, anchor="start", colour="#333333"):
    return '<text x="%.0f" y="%.0f" text-anchor="%s" fill="%s">%s</text>' % (at_x, at_y, anchor, colour, words)


def picture(program):
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">' % (WIDTH, HEIGHT),
           "<!-- SPDX-License-Identifier: Apache-2.0; made by bench/context_plot.py -->",
           '<rect width="%d" height="%d" fill="white"/>' % (WIDTH, HEIGHT)]
    for tokens in range(0, TOKENS + 1, 10000):
        out.append('<path d="M%d %.0fH%d" stroke="#dddddd"/>' % (LEFT, y(tokens), WIDTH - RIGHT))
        out.append(text(LEFT - 6, y(tokens) + 4, "{:,}".format(tokens), "end"))
    for turn in range(0, 2101, 300):
        out.append(text(x(turn, 2100), HEIGHT - BOTTOM + 16, "{:,}".format(turn), "middle"))
    out.append('<path d="M%d %.0fH%d" stroke="#c03030" stroke-dasharray="4 3"/>' % (LEFT, y(32000), WIDTH - RIGHT))
    out.append(text(WIDTH - RIGHT, y(32000) - 4, "what the model takes", "end", "#c03030"))
    out.append(text((LEFT + WIDTH) / 2, HEIGHT - 6, "turn", "middle"))
    for i, (condenser, label, colour) in enumerate(ROWS):
        out.append(line(points(program, condenser), colour, "4" if condenser == "recent" else "1.5"))
        out.append(text(LEFT + 10 + 150 * i, TOP - 6, label, "start", colour))
    return "\n".join(out + ["</svg>", ""])


if __name__ == "__main__":
    with open(sys.argv[2] if len(sys.argv) > 2 else "docs/context-tokens.svg", "w", encoding="utf-8") as file:
        file.write(picture(sys.argv[1]))
