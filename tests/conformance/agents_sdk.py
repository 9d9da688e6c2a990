# SPDX-License-Identifier: Apache-2.0
"""agents_sdk.py BUILD FILE|FOLDER...: files of the OpenAI Agents SDK's behaviour: vectors (agents_sdk_vectors.c), and scenarios,
played by an embedded runtime (agents_sdk_host.c) against a scripted model over HTTP
(agents_sdk_model.py).  What the runtime's log says is put into the SDK's words (agents_sdk_log.py) and compared.

A scenario in which thole does something else on purpose is found by what it is about (agents_sdk_rules.py,
docs/DEVIATIONS.md says why); then it is checked that thole does exactly that."""
import ast
import copy
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

import agents_sdk_model
from agents_sdk_agent import Cannot, body, part, spec, tool_name
from agents_sdk_case import functions_of
from agents_sdk_log import Reader, error
from agents_sdk_rules import DEVIATIONS_MAX, deviations

BUILD = sys.argv[1]
HOST = os.path.join(BUILD, "tests/conformance/conformance-agents-host")
VECTORS = os.path.join(BUILD, "tests/conformance/conformance-agents-vectors")


def plain_output(text):
    """The words for arguments that cannot be read are the program's own; a value is the same as Python and as JSON prints it."""
    if not isinstance(text, str):
        return text
    text = re.sub(r"^An error occurred while .*?(Invalid JSON input for tool [^:]*).*", r"\1", text, flags=re.S)
    if re.match(r"[{\[]|[A-Za-z_]\w*=", text):
        for read in (json.loads, ast.literal_eval, members):
            try:
                return {"value": read(text)}
            except (ValueError, SyntaxError):
                pass
    return text


def members(text):
    """A Python object as it prints itself: its members, as an object of JSON has them."""
    pairs = [part.split("=", 1) for part in re.split(r" (?=[A-Za-z_]\w*=)", text)]
    return {name: ast.literal_eval(value) for name, value in pairs}


def plain_record(line):
    """A line of a summary: "n. " and an item is the same however JSON is written."""
    m = re.fullmatch(r"(\d+)\. (\{.*\})", line)
    try:
        return {"record": int(m[1]), "item": plain_item(json.loads(m[2]))} if m else line
    except ValueError:
        return line


def plain_item(item):
    """An item without what both say differently and mean the same."""
    item = {k: v for k, v in item.items() if v is not None}
    if item.get("id") == "__fake_id__" or item.get("role") == "assistant" and "id" not in item:  # not the model's
        item = {k: v for k, v in item.items() if k not in ("id", "status")}
    if item.get("type") == "function_call_output":
        item = {**item, "output": plain_output(item.get("output"))}
    if item.get("type") == "computer_call":
        item = {k: v for k, v in item.items() if v != []}
    if item.get("type") == "computer_call_output":
        item = {**item, "output": {"type": "computer_screenshot"}}  # any picture
    if "role" in item and item.get("type", "message") == "message":
        content = item["content"]
        if isinstance(content, list) and len(content) == 1 and content[0].get("type") in ("input_text", "output_text", "text"):
            if item.get("role") != "assistant" or "id" not in item:
                content = content[0]["text"]
        if isinstance(content, list):
            content = [{k: v for k, v in p.items() if v not in (None, [])} for p in content]
        if isinstance(content, str) and content.startswith("For context, here is the conversation so far"):
            item.pop("status", None)  # which it has where a state was read back
            content = [plain_record(line) for line in content.split("\n")]
        item["content"] = content
        item.pop("type", None)
    return item


def plain_request(r):
    out = {"input": [plain_item(i) for i in r.get("input", [])]}
    for key in ("instructions", "tool_choice", "previous_response_id", "conversation", "text"):
        if r.get(key):
            out[key] = untitled(r[key]) if key == "text" else r[key]
    out["tools"] = sorted(t if isinstance(t, str) else t.get("name") or t.get("server_label") or t["type"] for t in r.get("tools", []))
    if out.get("tool_choice") == "auto":
        del out["tool_choice"]
    return out


HOOKS = ("agent_start:", "agent_end:", "llm_start:", "llm_end:", "tool_start:", "tool_end:", "handoff:", "guard_in:", "guard_out:")


def plain_hooks(hooks):
    """A guardrail beside the model comes when it comes; hooks that the form does not name are not compared."""
    hooks = [h for h in hooks if h.startswith(HOOKS)]
    return ([h for h in hooks if not h.startswith("guard_in:")], sorted(h for h in hooks if h.startswith("guard_in:")))


def untitled(value):
    """A schema without the titles that the SDK's models print into it."""
    if isinstance(value, list):
        return [untitled(v) for v in value]
    return {k: untitled(v) for k, v in value.items() if k != "title" or not isinstance(v, str)} if isinstance(value, dict) else value


def heard(want, got):
    """The first guardrail that says no ends the run: others that look at the same may still be asked, and need not be."""
    ends = "Guardrail" in (want.get("error") or {}).get("class", "")
    return [h for h in want["hooks"] if not ends or not h.startswith("guard_") or h in got["hooks"]]


def compare(path, want, got, out):
    if want != got:
        out.append("%s:\n      expected %s\n      found    %s" % (path, json.dumps(want), json.dumps(got)))


def joined(effect, want):
    """Several commands of one call, in the words of the scenario."""
    for sep in (",", ", ", ";", "; ", " && ", "|", " ", "\n"):
        if effect.replace("\x1f", sep) in want:
            return effect.replace("\x1f", sep)
    return effect.replace("\x1f", ",")


def plain_error(error, got):
    """How a stream ended counts, not its details; where the spec has no words the class does."""
    if not error:
        return error
    message = re.sub(r"^(Responses stream ended with terminal event `[^`]*`\.).*", r"\1", error.get("message") or "", flags=re.S)
    return {"class": error["class"], "message": message if (got.get("error") or {}).get("message") else None}


def plain_effects(effects, case):
    """What a computer did: words and numbers, however they are written."""
    if not any(t.get("type") == "computer" for t in case["config"]["tools"].values()):
        return effects
    return [re.findall(r"[^\W_]+|-\d+", e.lower()) for e in effects]


def own_members(value, want):
    """An object of a Python type has no members but its own."""
    if not isinstance(value, dict) or not isinstance(want, dict) or not want:
        return value
    return {k: v for k, v in value.items() if k in want}


def compare_phase(n, want, got, structured, out):
    path = "phase %d" % n
    compare(path + " error", plain_error(want.get("error"), got), plain_error(got.get("error"), got), out)
    for key in ("last_agent", "new_items", "interruptions", "usage_requests", "requests_made", "session_items", "stream_events"):
        if key in want:
            w, g = want[key], got.get(key)
            if key == "session_items":
                w, g = [plain_item(i) for i in w], [plain_item(i) for i in g or []]
            compare("%s %s" % (path, key), w, g, out)
    if "final_output" in want:
        g = got.get("final_output")
        if structured and isinstance(g, str) and not isinstance(want["final_output"], str):
            try:
                g = json.loads(g)
            except ValueError:
                pass
            if want["final_output"] != g:
                g = own_members(g, want["final_output"])
        compare(path + " final_output", plain_output(want["final_output"]), plain_output(g), out)
    compare(path + " next_steps", want["next_steps"], got["next_steps"], out)
    compare(path + " hooks", plain_hooks(heard(want, got)), plain_hooks(got["hooks"]), out)
    compare(path + " side_effects", want["side_effects"], got["side_effects"], out)


def by_name(hooks):
    """Those of the calls of one answer, sorted."""
    return [h for calls, list_ in itertools.groupby(hooks, lambda h: h.startswith("tool_")) for h in (sorted(list_) if calls else list_)]


def in_no_order(case, phase):
    """Agents that work on calls of one answer do so side by side: what they do and when they end has no order between them.
    Nor have calls of different kinds."""
    if any(len({i["type"] for i in t.get("output", []) if i["type"].endswith("_call")}) > 1 for t in case["model_turns"]):
        phase = {**phase, "hooks": by_name(phase["hooks"]), "side_effects": sorted(phase["side_effects"])}
    agents = {tool_name(n, t, case["config"]) for n, t in case["config"]["tools"].items() if t.get("type") == "agent"}
    if all(sum(i["name"] in agents for i in functions_of(t.get("output", []))) < 2 for t in case["model_turns"]):
        return phase
    hooks, ends = [], []
    for h in phase["hooks"] + [""]:
        if h[:9] == "tool_end:" and h[9:] in agents:
            ends.append(h)
        else:
            hooks, ends = hooks + sorted(ends) + [h], []
    return {**phase, "hooks": hooks, "next_steps": sorted(phase["next_steps"]), "side_effects": sorted(phase["side_effects"])}


def new_store(case, folder):
    """The URL of an empty one (tests/postgres/test_cases.py has another)."""
    return "sqlite:" + os.path.join(folder, re.sub(r"\W", "_", case["name"]) + ".db")


def play(case, model, folder):
    text = json.dumps(spec(case, new_store(case, folder), "http://127.0.0.1:%d" % model.server_address[1]))
    model.begin(case["model_turns"], [plain_request(r)["input"] for r in case["expected"].get("requests", [])],
                lambda body: plain_request(body)["input"], (case["config"].get("options", {}).get("retry") or {}).get("statuses"))
    env = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder,
           "OPENAI_API_KEY": "test"}
    r = subprocess.run([HOST], input=text, capture_output=True, text=True, env=env, timeout=60)
    if r.returncode or r.stderr:
        raise RuntimeError("the host ended with %d: %s%s" % (r.returncode, r.stdout[-300:], r.stderr[-600:]))
    case = {**case, "ends": next((t["status"] for t in case["model_turns"][:len(model.taken)][-1:]
                                                        if t.get("status", "completed") != "completed"), None)}
    reader, ops = Reader(case), [s["op"] for s in case["steps"] if s["op"] in ("run", "resume")]
    reader.begin(ops[0])
    for line in r.stdout.splitlines():
        v = json.loads(line)
        if "kind" in v:
            if v["kind"] == "message" and v["source"] == "user" and reader.phases and reader.phase["op"] == "resume":
                reader.said += 1  # and is read with the next request
            r = reader
            for id in v.get("sessions", []):
                r = r.child(id)
            r.event(v["kind"], v["source"], v["data"])
        elif "side" in v:
            reader.phase["side_effects"].append(v["side"])
        elif "items" in v:
            reader.phase["session_items"] = v["items"]
            reader.end()
            ops.pop(0)
            if ops:
                reader.begin(ops[0])
        elif "refused" in v:
            reader.phase["refused"] = v["refused"]
        elif "not_started" in v:
            reader.phase["error"] = error("start", v["not_started"], reader.agent)
            reader.end()
    return reader.phases, [plain_request(x) for x in model.requests()]


def check(case, phases, requests, out):
    structured = any("output_type" in a for a in case["config"]["agents"].values())
    want = [p for p in case["expected"]["phases"] if p["op"] in ("run", "resume")]
    compare("phases", len(want), len(phases), out)
    for n, (w, g) in enumerate(zip(want, phases)):
        g["side_effects"] = [joined(s, w["side_effects"]) for s in g["side_effects"]]
        for p in (w, g):
            p["side_effects"] = plain_effects(p["side_effects"], case)
        compare_phase(n, in_no_order(case, w), in_no_order(case, g), structured, out)
    wanted = [plain_request(r) for r in case["expected"].get("requests", [])]
    if requests or not case.get("unsent"):
        compare("requests", len(wanted) + case.get("more_requests", 0), len(requests), out)
    for n, (w, g) in enumerate(zip(wanted, requests)):
        for key in sorted(set(w) | set(g)):
            compare("request %d %s" % (n, key), w.get(key), g.get(key), out)


def files(args):
    for path in args:
        if os.path.isdir(path):
            for name in sorted(os.listdir(path)):
                if name.endswith(".json"):
                    yield os.path.join(path, name)
        else:
            yield path


def vectors(path):
    """Diffs, strict schemas and names: how many passed and failed."""
    r = subprocess.run([VECTORS, path], capture_output=True, text=True, timeout=60)
    print("".join(line + "\n" for line in r.stdout.splitlines()[:-1]), end="")
    last = re.fullmatch(r"(\d+) passed, (\d+) failed", (r.stdout.splitlines() or [""])[-1])
    if not last:
        raise RuntimeError("the vectors ended with %d: %s" % (r.returncode, r.stderr[-600:]))
    return int(last[1]), int(last[2])


def main():
    passed = failed = skipped = all_deviate = 0
    built_only = "--built" in sys.argv  # what is not there yet is not counted as wrong
    only = os.environ.get("CASE")
    model = agents_sdk_model.start()
    for path in files(a for a in sys.argv[2:] if a != "--built"):
        with open(path, encoding="utf-8") as f:
            content = json.load(f)
        if not isinstance(content, dict):  # of a folder of cases not all are ours
            continue
        cases, deviate = [c for c in content.get("cases", []) if "config" in c], 0
        if content.get("vectors") and not only:
            good, bad = vectors(path)
            passed, failed = passed + good, failed + bad
        for case in cases:
            if only and case["name"] != only:
                continue
            faults = []
            with tempfile.TemporaryDirectory() as folder:
                try:
                    phases, requests = play(case, model, folder)
                    wanted = copy.deepcopy(case)
                    deviate += bool(deviations(wanted))
                    check(wanted, phases, requests, faults)
                except Cannot as e:
                    if built_only:
                        skipped += 1
                        continue
                    faults.append("thole cannot: %s" % e)
                except Exception as e:  # noqa: BLE001 - any of them is this scenario's failure
                    faults.append("%s: %s" % (type(e).__name__, e))
            passed, failed = passed + (not faults), failed + bool(faults)
            if faults:
                print("FAIL %s\n    %s" % (case["name"], "\n    ".join(faults)))
        if deviate > DEVIATIONS_MAX:
            failed += 1
            print("FAIL %s: %d scenarios deviate, at most %d may" % (path, deviate, DEVIATIONS_MAX))
        all_deviate += deviate
    print("%d deviate on purpose, %d ask for what is not there" % (all_deviate, skipped))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
