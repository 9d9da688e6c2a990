#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same piece of work by models of every family, played by the stand-in: open a menu, drag, type, scroll to a button
and press it, all in one page.  What the page was sent says whether it was done; the stand-in must have nothing to object.

Its letters grow with the screen, so that they can be read in pictures of the size that each model is sent.
A row for each family: name of the test -> model, settings of the agent file, what the script says beside its turns, and
how that model drags."""

import json
import os
import sys
import urllib.parse

from harness import Made, Web, check, main
from tasks import CHROMIUM

PAGE = """<!doctype html><title>Workbench</title><body style="margin:0;--s:max(30px,2vmax);font:var(--s) sans-serif">
<h2 style="margin:10px">Workbench</h2>
<button id=m style="font:var(--s) sans-serif;margin:10px">Options</button>
<div id=l hidden style="margin:10px"><button id=u style="font:var(--s) sans-serif">Unlock board</button></div>
<p id=p style="margin:10px">Locked now
<div><canvas id=c style="width:70vw;height:45vh;border:3px solid #222;margin:10px"></canvas></div>
<form method=post action=/order style="margin:10px">
<p>Customer <input name=name style="font:var(--s) sans-serif;width:17em">
<input type=hidden name=stroke id=s>
<p style="height:90vh;border-left:4px solid #ccc">Please scroll down.</p>
<p><button style="font:calc(4px + var(--s)) sans-serif;padding:20px">Send order</button>
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

# On the other screens a picture is made smaller before it is sent, and its letters with it.
READER = "tesseract" if os.environ.get("TH_TORTURE") else os.path.join(os.path.dirname(os.path.abspath(__file__)), "large_letters.sh")
DRAG = {"drag": {"from": {"fx": 0.15, "fy": 0.45}, "to": {"fx": 0.45, "fy": 0.5}}}
STEPS = {
    "Options": {"click": {"text": "Options"}},
    "Unlock": {"click": {"text": "Unlock"}},
    "Ready to draw": DRAG,
    "Stroke recorded": {"click": {"text": "Customer", "dx": 260}},
    "Grace": {"scroll": {"fx": 0.5, "fy": 0.7, "direction": "down", "amount": 20}},
    "Send order": {"click": {"text": "Send order"}},
}


def work(name, model, size, settings="", steps=None, first=None, last=None, scrolls=1, others=(), **script):
    """One model's turn at the page.  `steps` replaces what it does when it sees these words; `scrolls` is how often it
    must scroll; `others` are the scripts of the models that it asks."""
    web = Web({"/": PAGE})
    try:
        case = Made.case("models-%s" % name, model, size)
        case.settings, case.reader = settings, READER
        do = {**STEPS, **(steps or {})}
        turns = [[first or {"screenshot": True}]]
        for seen, step in do.items():
            turns.append({"see": {"text": seen}, "parts": [step]})
            if seen == "Grace":
                turns += [{"parts": [step]} for _ in range(scrolls - 1)]
            if seen == "Stroke recorded" and "type_at" not in step:
                turns.append([{"type": "Grace Hopper"}])
        turns.append({"see": {"text": "received"}, "parts": [last or {"text": "The order is sent."}]})
        player = {"name": name, "model": model.split("+")[-1].split("/")[-1], "retry": {"times": 30, "with": "wait"},
                  **script, "turns": turns}
        case.run({"scripts": [player, *others]}, "Unlock the board, draw a stroke and order for Grace Hopper.",
                 [CHROMIUM % web.url], net="host")
        check(len(web.posts) == 1, "the form was sent %d times" % len(web.posts))
        sent = urllib.parse.parse_qs(web.posts[0][1])
        check(sent.get("name") == ["Grace Hopper"], "sent: %s" % sent)
        dx, dy = (int(v) for v in sent["stroke"][0].split(","))
        # A step of a model's space, or a pixel of a smaller picture, is more than one pixel of the screen.
        loose = 4 + max(size) // 500
        check(abs(dx - size[0] * 0.3) <= loose and abs(dy - size[1] * 0.05) <= loose,
              "the stroke is %s" % sent["stroke"])
        yield case
    finally:
        web.end()


# For a model that cannot type where the caret is.
TYPE_AT = {"Stroke recorded": {"type_at": {"text": "Customer", "dx": 260, "value": "Grace Hopper",
                                         "enter": False}}}
THINK = "settings:\n  effort: low"


def provider(model, settings="", **more):
    """A model with a computer tool of its provider."""
    return lambda name, size: work(name, model, size, settings, **more)


def writes(model, dialect, **more):
    """A model of open weights that writes its actions as text."""
    more.setdefault("last", {"answer": "The order is sent."})
    return lambda name, size: work(name, model, size, dialect=dialect, flavour="vllm", **more)


def calls(style):
    """A model that calls the computer as a function, in one of the ways that they do."""
    return lambda name, size: work(name, "openai_like/any-model", size, dialect="json_tool",
                                   options={"tool_style": style})


def described(action, **arguments):
    return {"function_call": {"name": "computer", "arguments": {"action": action, **arguments}}}


PLAN = {
    "Options": described("click", element_description='the button "Options"'),
    "Unlock": described("click", element_description='the button "Unlock board"'),
    "Ready to draw": described("drag", start_element_description="left end of the stroke",
                               end_element_description="right end of the stroke"),
    "Stroke recorded": described("click", element_description="field right of Customer"),
    "Grace": described("scroll", element_description="lower half of the page", scroll_y=2000),
    "Send order": described("click", element_description='the button "Send order"'),
}
TARGETS = {
    "left end": DRAG["drag"]["from"],
    "right end": DRAG["drag"]["to"],
    "right of Customer": {"text": "Customer", "dx": 260},
    "lower half": {"fx": 0.5, "fy": 0.7},
}


def pair(grounder, style, planner="openai_like/planner", **more):
    """A planner that describes elements, and a grounder that says where they are."""
    finder = {"name": "grounder", "model": grounder, "grounder": {"style": style, "targets": TARGETS}, **more}
    return lambda name, size: work(name, "%s+%s" % (grounder, planner), size, steps=PLAN, dialect="json_tool",
                                   first=described("screenshot"), others=[finder])


OPEN = {"flavour": "vllm"}

FAMILIES = {
    "claude-zoom": provider("claude-opus-4-6", THINK),
    "claude-2025": provider("claude-sonnet-4-5", THINK),
    "claude-toolset": provider("claude-opus-5", THINK),
    "preview": provider("computer-use-preview"),
    "computer": provider("gpt-5.4"),
    "gemini-2.5": provider("gemini-2.5-computer-use-preview-10-2025", steps=TYPE_AT),
    "gemini-3": provider("gemini-3-flash-preview", steps=TYPE_AT),
    "chat": calls("cua"),
    "chat-qwen": calls("qwen"),
    "chat-anthropic": calls("anthropic"),
    "uitars": writes("ui-tars-7b-dpo", "uitars", scrolls=5),
    "uitars15": writes("ui-tars-1.5-7b", "uitars15", space="uitars28", scrolls=5),
    "uitars-point": writes("doubao-1-5-ui-tars", "uitars_point", scrolls=5),
    "uitars2": writes("ui-tars-2", "uitars2", scrolls=5),
    "qwen": writes("qwen3-vl-8b-instruct", "qwen"),
    "qwen-abs": writes("qwen2.5-vl-7b-instruct", "qwen_abs", space="smart28"),
    "qwen35": writes("qwen3.5-35b", "qwen35"),
    "fara": writes("fara-7b", "fara"),
    "opencua": writes("opencua-7b", "opencua"),
    "glm": writes("glm-4.5v", "glm"),
    "pair-point": pair("gta1-7b", "point", space="floor28", **OPEN),
    "pair-list": pair("gelato-30b-a3b", "list", space="floor28", **OPEN),
    "pair-box": pair("gta1-32b", "box", space="floor28", **OPEN),
    "pair-tag": pair("ui-ins-7b", "tag", space="floor28", **OPEN),
    "pair-click": pair("gta1-72b", "click", space="floor28", **OPEN),
    "pair-json": pair("moondream3", "json", space="norm1", **OPEN),
    "pair-point-2d": pair("ui-ins-32b", "point_2d", space="floor28", **OPEN),
    "pair-holo": pair("holo1.5-7b", "holo", space="smart28", **OPEN),
    "pair-pyautogui": pair("opencua-32b", "pyautogui", space="smart28", **OPEN),
    "pair-uitars": pair("ui-tars-1.5-7b", "uitars", space="uitars28", **OPEN),
    "pair-uitars-point": pair("doubao-1-5-ui-tars", "uitars_point", space="norm1000", **OPEN),
    "pair-qwen": pair("qwen3-vl-8b-instruct", "qwen", space="norm1000", **OPEN),
    "pair-native": pair("claude-sonnet-4-5", "native"),
}


SIZES = "1920x1080 1366x768 1080x1920 3840x2160" if os.environ.get("TH_TORTURE") else "1280x800"


def task(name):
    def every():
        for size in os.environ.get("TH_E2E_SIZE", SIZES).split():
            width, height = size.split("x")
            yield from FAMILIES[name](name, (int(width), int(height)))

    return every


if __name__ == "__main__":
    sys.exit(main({name: task(name) for name in FAMILIES}))
