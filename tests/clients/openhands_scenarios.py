# SPDX-License-Identifier: Apache-2.0
"""Conversations that thole and openhands-sdk play against the same model.

A scenario: `answers` of the model (openhands_model.py), `steps` of the person, and what is set: `turns`, `confirm`, `condense`, `helper`. W/ is the
workspace. `deviates` has the lines that only one side has: "- " openhands-sdk, "+ " thole; each has a row in
docs/DEVIATIONS.md. Files end without a newline: whether a view numbers the empty line behind it depends on the SDK's version.
"""


def call(name, **arguments):
    return {"call": name, "args": arguments}


def think(thought):
    return [call("think", thought=thought)]


def finish(message="ok"):
    return [call("finish", message=message)]


def create(path, text="x"):
    return [call("file_editor", command="create", path="W/" + path, file_text=text)]


def look(path):
    return [call("file_editor", command="view", path="W/" + path)]


def task(prompt):
    return call("task", prompt=prompt, subagent_type="helper", description="d")


SAY = [["say", "Do the task."]]
MISSING = look("missing.txt")
TOO_LONG = {"status": 400, "body": {"error": {"message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
                                              "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}}
SUMMED_UP = "<EVENT|has become too long"  # a request for a summary: OpenHands', and ours
SUMMARY = [{"text": "SUMMARY-1"}]

SCENARIOS = {
    "a text": {"answers": [[{"text": "Hello."}]], "steps": SAY},
    "think and finish": {"answers": [think("t"), finish()], "steps": SAY},
    "words beside a call": {"answers": [[{"text": "I think."}, *think("t")], finish()], "steps": SAY},
    "calls in parallel": {"answers": [[*think("a"), *think("b"), *create("f.txt")], finish()], "steps": SAY},
    "nothing runs behind finish": {"answers": [[*think("a"), *finish("done"), *create("late.txt")]], "steps": SAY,
                                   "deviates": ["- event ActionEvent:file_editor", "+ event ActionEvent:file_editor:null", "+ event AgentErrorEvent"]},
    "a tool that is not there": {"answers": [[call("nope", x=1)], finish()], "steps": SAY},
    "arguments that are no JSON": {"answers": [[{"call": "think", "raw": "{bad"}], finish()], "steps": SAY},
    "a missing argument": {"answers": [[call("think")], finish()], "steps": SAY},
    "an argument too many": {"answers": [[call("think", thought="t", zzz=1)], finish()], "steps": SAY},
    "a second task": {"answers": [finish("one"), think("t"), finish("two")], "steps": [*SAY, ["say", "And now?"]]},
    "files": {"answers": [create("f.txt", "one\ntwo"), look("f.txt"), finish()], "steps": SAY},
    "an empty answer": {"answers": [[{"text": ""}], finish()], "steps": SAY,
                        "deviates": ["- event MessageEvent:agent:", "- event MessageEvent:environment",
                                     "- request 1  user: Do the task.\\n(the environment)", "+ request 1  user: Do the task."]},
    "iteration limit": {"answers": [think("a"), think("b"), think("c"), finish()], "turns": 2, "steps": SAY},
    "iteration limit, and on": {"answers": [think("a"), think("b"), finish()], "turns": 2, "steps": [*SAY, ["go"]]},
    "finish with the last turn": {"answers": [think("a"), finish()], "turns": 2, "steps": SAY},
    "stuck: the same again": {"answers": [look("d.txt")] * 6, "files": {"d.txt": "x"}, "steps": SAY},
    "stuck: the same error again": {"answers": [[call("nope", x=1)]] * 6, "steps": SAY},
    "stuck: two in turn": {"answers": [look("a.txt"), look("b.txt")] * 5, "files": {"a.txt": "a", "b.txt": "b"}, "steps": SAY},
    "not stuck: something else between": {"answers": [look("d.txt")] * 3 + [think("t")] + [look("d.txt")] * 2 + [finish()],
                                          "files": {"d.txt": "x"}, "steps": SAY},
    "not stuck: another word of the user": {"answers": [look("d.txt")] * 3 + [finish()] + [look("d.txt")] * 2 + [finish()],
                                            "files": {"d.txt": "x"}, "steps": [*SAY, ["say", "Again."]]},
    "stuck, and on": {"answers": [look("d.txt")] * 4 + [finish()], "files": {"d.txt": "x"}, "steps": [*SAY, ["say", "Stop that."]]},
    "confirm: yes": {"answers": [create("f.txt"), finish()], "confirm": "always", "steps": [*SAY, ["go"]]},
    "confirm: no": {"answers": [create("f.txt"), finish()], "confirm": "always", "steps": [*SAY, ["reject", "not now"]]},
    "confirm: no to two": {"answers": [[*create("f.txt"), *create("g.txt")], finish()], "confirm": "always", "steps": [*SAY, ["reject", "neither"]]},
    "confirm: twice": {"answers": [create("f.txt"), create("g.txt"), finish()], "confirm": "always", "steps": [*SAY, ["go"], ["reject", "enough"]]},
    "confirm: a high risk": {"answers": [[call("file_editor", command="create", path="W/f.txt", file_text="x", security_risk="HIGH")], finish()],
                             "confirm": "risky", "steps": [*SAY, ["go"]]},
    "confirm: a low risk": {"answers": [[call("file_editor", command="create", path="W/f.txt", file_text="x", security_risk="LOW")], finish()],
                            "confirm": "risky", "steps": SAY},
    "condense: events": {"answers": [think("t%d" % n) for n in range(12)] + [finish()], "condense": {"max_size": 12, "keep_first": 2}, "steps": SAY},
    "condense: batches": {"answers": [[*think("a%d" % n), *think("b%d" % n)] for n in range(6)] + [finish()],
                          "condense": {"max_size": 16, "keep_first": 2}, "steps": SAY},
    "condense: the newest": {"answers": [[*think("a%d" % n), *think("b%d" % n)] for n in range(3)] + [finish()],
                             "condense": {"max_size": 12, "keep_first": 2}, "steps": SAY,
                             "deviates": ["+ request 3  call #0 think {\"thought\": \"a2\"}", "+ request 3  call #1 think {\"thought\": \"b2\"}",
                                          "+ request 3  result #0: Your thought has been logged.", "+ request 3  result #1: Your thought has been logged."]},
    "condense: too long": {"answers": [think("t%d" % n) for n in range(6)] + [TOO_LONG, finish()], "condense": {"max_size": 80, "keep_first": 2},
                           "steps": SAY,
                           "deviates": ["- request 7  user: Do the task.\\nSUMMARY-1",
                                        "+ request 7  user: Do the task.\\n[6 earlier items of this conversation were left out here.]",
                                        "+ request 7  call #0 think {\"thought\": \"t3\"}",
                                        "- request 7  call #0 think {\"thought\": \"t4\"}", "- request 7  call #1 think {\"thought\": \"t5\"}",
                                        "+ request 7  call #1 think {\"thought\": \"t4\"}", "+ request 7  call #2 think {\"thought\": \"t5\"}",
                                        "+ request 7  result #2: Your thought has been logged."]},
    "a helper": {"answers": [[task("Look at d.txt.")], finish()], "helper": [look("d.txt"), finish("RESULT-1")], "files": {"d.txt": "x"}, "steps": SAY},
    "a helper that says it": {"answers": [[task("Look at d.txt.")], finish()], "helper": [[{"text": "RESULT-1"}]], "steps": SAY},
    "two helpers": {"answers": [[task("Look at d.txt."), task("Look at d.txt.")], finish()], "helper": [[{"text": "RESULT-1"}], [{"text": "RESULT-1"}]],
                    "steps": SAY},
    "a helper that is not there": {"answers": [[call("task", prompt="Look at d.txt.", subagent_type="nobody")], finish()], "helper": [], "steps": SAY},
}
