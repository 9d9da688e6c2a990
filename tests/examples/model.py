# SPDX-License-Identifier: Apache-2.0
"""A scripted model on loopback (OpenAI Responses), on one thread for any number of connections.

`answer(request)` is given the parsed body and returns the output items."""

import asyncio
import json
import threading


def say(text):
    return {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}]}


def call(name, **arguments):
    return {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_" + name, "name": name,
            "arguments": json.dumps(arguments)}


def computer(*actions):
    return {"id": "cu_1", "type": "computer_call", "status": "completed", "call_id": "call_computer",
            "actions": list(actions), "pending_safety_checks": []}


def outputs(request):
    """What the calls so far led to, in order."""
    return [item["output"] for item in request["input"] if item.get("type", "").endswith("_call_output")]


def stream(items, response):
    events = [{"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}]
    for index, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        for part in item.get("content", []):
            for word in part["text"].split(" "):
                events.append({"type": "response.output_text.delta", "output_index": index, "content_index": 0,
                               "delta": word + " "})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": response})
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)


class Model:
    def __init__(self, answer):
        self.answer = answer
        self.requests = 0
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait()

    def run(self, ready):
        async def main():
            self.ended = asyncio.Event()
            server = await asyncio.start_server(self.serve, "127.0.0.1", 0, limit=1 << 26, backlog=2048)
            self.url = "http://127.0.0.1:%d/v1" % server.sockets[0].getsockname()[1]
            ready.set()
            await self.ended.wait()
            server.close()

        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(main())

    def end(self):
        self.loop.call_soon_threadsafe(self.ended.set)
        self.thread.join()

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.split("content-length:")[1].split("\r\n")[0])
                request = json.loads(await reader.readexactly(length))
                self.requests += 1
                items = self.answer(request)
                response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
                            "output": items, "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}
                streamed = request.get("stream")
                body = (stream(items, response) if streamed else json.dumps(response)).encode()
                kind = "text/event-stream" if streamed else "application/json"
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" %
                             (kind.encode(), len(body)) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
