# SPDX-License-Identifier: Apache-2.0
"""A model for thousands of sessions: many_model.py FOLDER LEAST MOST

The sessions' first words say what they do: "think" calls a tool of the runtime, "command" writes the number of its turn into a file
made, "desktop" opens a terminal that writes down what is typed, and types the numbers of its turns. An answer takes LEAST to MOST
seconds. Each session goes on until there is a file FOLDER/over; its next answer is its last one. The port is written to FOLDER/port.
"""

import asyncio
import json
import os
import pathlib
import random
import resource
import sys

FOLDER = pathlib.Path(sys.argv[1])
LEAST, MOST = float(sys.argv[2]), float(sys.argv[3])
TERMINAL = ("xterm -geometry 60x10+20+20 -e sh -c ': > up; exec cat >> typed' >/dev/null 2>&1 & "
            "until [ -e up ]; do sleep 0.05; done; sleep 1")
USAGE = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0},
         "total_tokens": 120}


def function(turn, name, **arguments):
    return {"type": "function_call", "id": "fc_%d" % turn, "call_id": "call_%d" % turn, "status": "completed", "name": name,
            "arguments": json.dumps(arguments)}


def item(body, turn):
    """What the model says in this turn of the session."""
    if (FOLDER / "over").exists():
        return {"type": "message", "id": "msg_%d" % turn, "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}
    if b"Go: command" in body:
        return function(turn, "shell", command="echo %d >> made; sleep 0.%d" % (turn, random.randrange(10)))
    if b"Go: desktop" not in body:
        return function(turn, "notes", text="This is turn %d." % turn)
    if turn == 0:
        return function(turn, "shell", command=TERMINAL)
    return {"type": "computer_call", "id": "cu_%d" % turn, "call_id": "call_%d" % turn, "status": "completed", "pending_safety_checks": [],
            "actions": [{"type": "type", "text": str(turn)}, {"type": "keypress", "keys": ["ENTER"]}]}


def events(said, turn):
    response = {"id": "resp_%d" % turn, "object": "response", "created_at": 1700000000, "model": "gpt-5.4", "status": "in_progress", "output": [],
                "usage": None, "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True,
                "tool_choice": "auto", "tools": [], "temperature": 1, "top_p": 1}
    whole = {**response, "status": "completed", "output": [said], "usage": USAGE}
    for number, (kind, more) in enumerate((("response.created", {"response": response}),
                                           ("response.output_item.added", {"output_index": 0, "item": {**said, "status": "in_progress"}}),
                                           ("response.output_item.done", {"output_index": 0, "item": said}), ("response.completed", {"response": whole}))):
        yield "event: %s\ndata: %s\n\n" % (kind, json.dumps({"type": kind, "sequence_number": number, **more}))


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if b"expect: 100-continue" in head:
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
            turn = body.count(b'"function_call_output"') + body.count(b'"computer_call_output"')
            await asyncio.sleep(random.uniform(LEAST, MOST))
            said = "".join(events(item(body, turn), turn)).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(said) + said)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the node has ended, or has enough connections
    finally:
        writer.close()


async def main():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 20, backlog=4096)
    new = FOLDER / "port.new"
    new.write_text(str(server.sockets[0].getsockname()[1]))
    os.rename(new, FOLDER / "port")
    await server.serve_forever()


asyncio.run(main())
