#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs on the private desktop, the model played by the stand-in.

Each task is checked outside the screen: a file, a process, what a web server
was sent.  The stand-in finds its targets by reading the pictures it is sent,
so a click lands only if everything between is right."""

import sys
import urllib.parse

from harness import Made, Web, check, main

PREVIEW, NEWER = "computer-use-preview", "gpt-5.4"


def editor():
    """Write a text in a GTK editor and save it."""
    case = Made.case("editor", PREVIEW)
    case.run({
        "model": PREVIEW,
        "turns": [
            [{"screenshot": True}],
            {"see": {"text": "Untitled"}, "parts": [{"reasoning": "The editor is open."}, {"click": {"fx": 0.5, "fy": 0.5}}]},
            [{"type": "The quick brown fox\njumps over the lazy dog.\n"}],
            {"see": {"text": "lazy dog"}, "parts": [{"keypress": ["CTRL", "S"]}]},
            {"see": {"text": "Name"}, "parts": [{"keypress": ["CTRL", "A"]}]},
            [{"type": str(case.workspace / "fox.txt")}],
            # The dialog takes Return only when it has looked the folder up.
            [{"wait": 2}],
            {"see": {"text": "fox.txt"}, "parts": [{"keypress": ["ENTER"]}]},
            [{"wait": 1}],
            {"unless_see": {"text": "Encoding"}, "parts": [{"text": "The file is saved."}],
             "else": {"parts": [{"keypress": ["ENTER"]}]}},
            [{"text": "The file is saved."}],
        ]}, "Write the fox sentence in the editor and save it as fox.txt.", ["mousepad"])
    check(case.text("fox.txt") == "The quick brown fox\njumps over the lazy dog.\n", "fox.txt is wrong")
    yield case


def terminal():
    """Run a command in xterm."""
    case = Made.case("terminal", NEWER)
    case.run({
        "model": NEWER,
        "turns": [
            [{"screenshot": True}],
            {"see": {"text": "READY"}, "parts": [{"actions": [{"click": {"fx": 0.2, "fy": 0.2}},
                          {"type": {"value": "echo $((6*7)) > answer.txt; echo finished", "enter": True}}]}]},
            {"see": {"text": "finished"}, "parts": [{"text": "Done."}]},
        ]}, "Compute six times seven in the terminal into answer.txt.",
        ["xterm -fa Monospace -fs 16 -geometry 80x24+0+0 -e 'echo READY; exec sh'"])
    check(case.text("answer.txt").strip() == "42", "answer.txt is wrong")
    yield case


FORM = """<!doctype html><title>Order form</title>
<body style="font:28px sans-serif;margin:40px">
<h1>Order form</h1>
<form method=post action=/order>
<p>Customer <input name=name style="font:28px sans-serif;width:500px">
<p>Delivery <select name=way style="font:28px sans-serif"><option>Pickup<option>Courier</select>
<p style="height:1400px;border-left:4px solid #ccc">Please scroll down to send the order.</p>
<p><button style="font:32px sans-serif;padding:20px">Send order</button>
</form>"""

CHROMIUM = "chromium --no-first-run --no-default-browser-check --disable-gpu --start-maximized %s"


def form():
    """Fill a form in Chromium; its button must be scrolled to."""
    web = Web({"/": FORM})
    try:
        case = Made.case("form", PREVIEW)
        case.run({
            "model": PREVIEW, "retry": {"times": 30, "with": "wait"},
            "turns": [
                [{"screenshot": True}],
                {"see": {"text": "Order form"}, "parts": [{"click": {"text": "Customer", "dx": 260}}]},
                [{"type": "Grace Hopper"}],
                {"see": {"text": "Grace Hopper"}, "parts": [{"scroll": {"fx": 0.5, "fy": 0.6, "dy": 1200}}]},
                [{"scroll": {"fx": 0.5, "fy": 0.6, "dy": 1200}}],
                {"see": {"text": "Send order"}, "parts": [{"click": {"text": "Send order"}}]},
                {"see": {"text": "received"}, "parts": [{"text": "The order is sent."}]},
            ]}, "Order for Grace Hopper.", [CHROMIUM % web.url], net="host")
        check(len(web.posts) == 1, "the form was sent %d times" % len(web.posts))
        path, body = web.posts[0]
        check(path == "/order" and urllib.parse.parse_qs(body)["name"] == ["Grace Hopper"], "sent: %s" % body)
        yield case
    finally:
        web.end()


DRAW = """<!doctype html><title>Drawing</title><body style="margin:0;font:28px sans-serif">
<h2 style="margin:10px">Drawing board</h2>
<canvas id=c width=900 height=420 style="border:3px solid #222;margin:10px"></canvas>
<p id=p style="margin:10px">Ready to draw
<script>
const c=document.getElementById('c'),g=c.getContext('2d');let on=false,n=0,s=[];
g.lineWidth=6;
const at=e=>{const r=c.getBoundingClientRect();return[Math.round(e.clientX-r.left),Math.round(e.clientY-r.top)]};
c.onpointerdown=e=>{on=true;n=0;s=[at(e)];g.beginPath();g.moveTo(...s[0])};
c.onpointermove=e=>{if(!on)return;n++;s.push(at(e));g.lineTo(...at(e));g.stroke()};
onpointerup=e=>{if(!on)return;on=false;s.push(at(e));
 fetch('/stroke',{method:'POST',body:JSON.stringify({first:s[0],last:s[s.length-1],moves:n})})
 .then(()=>document.getElementById('p').textContent='Stroke recorded')};
</script>"""


def drag():
    """Draw a stroke: press, many moves, release."""
    import json
    web = Web({"/": DRAW})
    try:
        case = Made.case("drag", NEWER)
        case.run({
            "model": NEWER, "retry": {"times": 30, "with": "wait"},
            "turns": [
                [{"screenshot": True}],
                {"see": {"text": "Ready to draw"},
                 "parts": [{"drag": {"path": [{"x": 200, "y": 300}, {"x": 500, "y": 420}, {"x": 700, "y": 330}]}}]},
                {"see": {"text": "Stroke recorded"}, "parts": [{"text": "Drawn."}]},
            ]}, "Draw a stroke.", [CHROMIUM % web.url], net="host")
        check(len(web.posts) == 1, "strokes: %d" % len(web.posts))
        stroke = json.loads(web.posts[0][1])
        dx, dy = (stroke["last"][i] - stroke["first"][i] for i in (0, 1))
        check(abs(dx - 500) <= 2 and abs(dy - 30) <= 2, "the stroke is %s" % stroke)
        check(stroke["moves"] >= 4, "only %d moves" % stroke["moves"])
        yield case
    finally:
        web.end()


def menu():
    """A menu by keyboard alone."""
    case = Made.case("menu", PREVIEW)
    (case.workspace / "note.txt").write_text("alpha beta\n")
    (case.workspace / "note.txt").chmod(0o666)
    case.run({
        "model": PREVIEW,
        "turns": [
            [{"screenshot": True}],
            {"see": {"text": "alpha beta"}, "parts": [{"keypress": ["ALT", "E"]}]},
            {"see": {"text": "Increase Indent"}, "parts": [{"keypress": ["I"]}]},
            {"unless_see": {"text": "Increase Indent"}, "parts": [{"keypress": ["ALT", "F"]}],
             "else": {"parts": [{"text": "The menu did not take the key."}]}},
            {"see": {"text": "Save As"}, "parts": [{"keypress": ["S"]}]},
            [{"screenshot": True}],
            [{"text": "Saved."}],
        ]}, "Indent the line of the note with the menus and save it.", ["mousepad note.txt"])
    check(case.text("note.txt") in ("\talpha beta\n", "        alpha beta\n"), "note.txt is %r" % case.text("note.txt"))
    yield case


UNICODE = "Größe, crème brûlée, Žluťoučký kůň: 日本語 中文 한국어 🚀😀 «done»"


def unicode_text():
    """Accents, CJK and emoji typed into a GTK field and read back."""
    case = Made.case("unicode", NEWER)
    case.run({
        "model": NEWER,
        "turns": [
            [{"screenshot": True}],
            {"see": {"text": "Enter new text"}, "parts": [{"type": {"value": UNICODE, "enter": True}}]},
            [{"wait": 1}],
            [{"text": "Typed."}],
        ]}, "Type the text into the field.",
        ["zenity --entry --title=Field --text='Enter new text:' --width=900 > typed.txt"])
    check(case.text("typed.txt").rstrip("\n") == UNICODE, "typed.txt is %r" % case.text("typed.txt"))
    yield case


def late_dialog():
    """A dialog that appears some seconds after the first look."""
    case = Made.case("late", PREVIEW)
    case.run({
        "model": PREVIEW, "retry": {"times": 20, "with": "wait"},
        "turns": [
            [{"screenshot": True}],
            {"see": {"text": "Shall it be done"}, "parts": [{"type": {"value": "yes", "enter": True}}]},
            [{"wait": 1}],
            [{"text": "Answered."}],
        ]}, "Answer the question with yes when it comes.",
        ["sleep 3; zenity --entry --title=Late --text='Shall it be done?' --width=900 > answer.txt"])
    check(case.text("answer.txt").strip() == "yes", "answer.txt is wrong")
    yield case


TASKS = {
    "editor": editor,
    "terminal": terminal,
    "form": form,
    "drag": drag,
    "menu": menu,
    "unicode": unicode_text,
    "late_dialog": late_dialog,
}

if __name__ == "__main__":
    sys.exit(main(TASKS))
