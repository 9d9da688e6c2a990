#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same piece of work by models of every family, played by the stand-in: open a menu, drag, type, scroll to a button
and press it, all in one page.  What the page was sent says whether it was done; the stand-in must have nothing to object.

A row for each family: name of the test -> model, settings of the agent file, what the script says beside its turns, and
how that model drags."""

import json
import os
import sys
import urllib.parse

from harness import Made, Web, check, main
from tasks import CHROMIUM

PAGE = """<!doctype html><title>Workbench</title><body style="margin:0;font:30px sans-serif">
<h2 style="margin:10px">Workbench</h2>
<button id=m style="font:30px sans-serif;margin:10px">Options</button>
<div id=l hidden style="margin:10px"><button id=u style="font:30px sans-serif">Unlock board</button></div>
<p id=p style="margin:10px">Locked now
<div><canvas id=c width=700 height=150 style="border:3px solid #222;margin:10px"></canvas></div>
<form method=post action=/order style="margin:10px">
<p>Customer <input name=name style="font:30px sans-serif;width:500px">
<input type=hidden name=stroke id=s>
<p style="height:1500px;border-left:4px solid #ccc">Please scroll down.</p>
<p><button style="font:34px sans-serif;padding:20px">Send order</button>
</form><script>
const $=i=>document.getElementById(i),g=$('c').getContext('2d');let open=false,on=false,a;
g.lineWidth=6;
const at=e=>{const r=$('c').getBoundingClientRect();return[Math.round(e.clientX-r.left),Math.round(e.clientY-r.top)]};
$('m').onclick=()=>{$('l').hidden=false};
$('u').onclick=()=>{open=true;$('l').hidden=true;$('p').textContent='Ready to draw'};
$('c').onpointerdown=e=>{if(!open)return;on=true;a=at(e);g.beginPath();g.moveTo(...a)};
$('c').onpointermove=e=>{if(on){g.lineTo(...at(e));g.stroke()}};
onpointerup=e=>{if(!on)return;on=false;const b=at(e);$('s').value=(b[0]-a[0])+','+(b[1]-a[1]);
 $('p').textContent='Stroke recorded'};
</script>"""

DRAG = [{"drag": {"from": {"fx": 0.15, "fy": 0.45}, "to": {"fx": 0.45, "fy": 0.5}}}]


def work(name, model, size, settings="", drag=None, scroll=None, **script):
    """One model's turn at the page."""
    web = Web({"/": PAGE})
    try:
        case = Made.case("models-%s" % name, model, size)
        case.settings = settings
        down = {"scroll": {"fx": 0.5, "fy": 0.7, **(scroll or {"direction": "down", "amount": 20})}}
        case.run({
            "model": model, "retry": {"times": 30, "with": "wait"}, **script,
            "turns": [
                [{"screenshot": True}],
                {"see": {"text": "Options"},
                 "parts": [{"reasoning": "The menu first."}, {"click": {"text": "Options"}}]},
                {"see": {"text": "Unlock"}, "parts": [{"click": {"text": "Unlock"}}]},
                {"see": {"text": "Ready to draw"}, "parts": drag or DRAG},
                {"see": {"text": "Stroke recorded"}, "parts": [{"click": {"text": "Customer", "dx": 260}}]},
                [{"type": "Grace Hopper"}],
                {"see": {"text": "Grace"}, "parts": [down]},
                {"see": {"text": "Send order"}, "parts": [{"click": {"text": "Send order"}}]},
                {"see": {"text": "received"}, "parts": [{"text": "The order is sent."}]},
            ]}, "Unlock the board, draw a stroke and order for Grace Hopper.", [CHROMIUM % web.url], net="host")
        check(len(web.posts) == 1, "the form was sent %d times" % len(web.posts))
        sent = urllib.parse.parse_qs(web.posts[0][1])
        check(sent.get("name") == ["Grace Hopper"], "sent: %s" % sent)
        dx, dy = (int(v) for v in sent["stroke"][0].split(","))
        # A pixel of a smaller picture is more than one of the screen.
        check(abs(dx - size[0] * 0.3) <= 4 and abs(dy - size[1] * 0.05) <= 4, "the stroke is %s" % sent["stroke"])
        yield case
    finally:
        web.end()


PRESS_AND_RELEASE = [{"move": {"fx": 0.15, "fy": 0.45}}, {"mouse_down": None}, {"move": {"fx": 0.45, "fy": 0.5}},
                     {"mouse_up": None}]
THINK = "settings:\n  effort: low"

# model, settings, more of work()
FAMILIES = {
    "claude-zoom": ("claude-opus-4-6", THINK, {}),
    "claude-2025": ("claude-sonnet-4-5", THINK, {}),
    "claude-toolset": ("claude-opus-5", THINK, {}),
}


def task(name):
    model, settings, more = FAMILIES[name]
    width, height = (int(v) for v in os.environ.get("TH_E2E_SIZE", "1280x800").split("x"))
    return lambda: work(name, model, (width, height), settings, **more)


if __name__ == "__main__":
    sys.exit(main({name: task(name) for name in FAMILIES}))
