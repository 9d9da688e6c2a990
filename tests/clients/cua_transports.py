# SPDX-License-Identifier: Apache-2.0
"""Cua's other client, cua-sandbox from PyPI, against thole serve --cua: both transports, with a token, and terminals."""

import asyncio
import base64
import os

from cua_sandbox.sandbox import Sandbox
from cua_sandbox.transport.http import HTTPTransport
from cua_sandbox.transport.websocket import WebSocketTransport

HOST, TOKEN = "127.0.0.1:" + os.environ["PORT"], os.environ["TOKEN"]


async def drive(sandbox, shell):
    assert (await sandbox.screenshot())[:4] == b"\x89PNG"
    assert await sandbox.get_dimensions() == (1280, 800)
    assert await sandbox.get_environment() == "linux"
    await sandbox.mouse.click(100, 100, button="right")
    await sandbox.mouse.scroll(150, 150, scroll_y=3)
    await sandbox.mouse.drag(1, 1, 30, 30)
    await sandbox.keyboard.type("héllo")
    await sandbox.keyboard.keypress(["ctrl", "a"])
    await sandbox.clipboard.set("clip")
    assert await sandbox.clipboard.get() == "clip"
    await sandbox.files.write_text("note", "text é")
    assert await sandbox.files.read_text("note") == "text é"
    assert await sandbox.files.exists("note") and not await sandbox.files.exists("none")
    assert "note" in [f.name for f in await sandbox.files.list(".")]
    assert isinstance(await sandbox.window.get_active_title(), str)
    if shell:  # over the WebSocket its `command` takes the place of the command's name
        done = await sandbox.shell.run("echo out; echo err >&2; exit 3")
        assert (done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 3), done


async def terminal(sandbox):
    made = await sandbox.terminal.create("cat > typed; touch done", cols=100, rows=30)
    assert await sandbox.terminal.info(made["pid"]) == made
    for text in ("plain text\n", base64.b64encode(b"and base64\n\x04").decode()):
        await sandbox.terminal.send_input(made["pid"], text)
    while not await sandbox.files.exists("done"):
        await asyncio.sleep(0.05)
    assert await sandbox.files.read_text("typed") == "plain text\nand base64\n"
    assert await sandbox.terminal.close(made["pid"]) is False
    assert await sandbox.terminal.info(made["pid"]) is None


async def main():
    for transport in (HTTPTransport("http://" + HOST, api_key=TOKEN), WebSocketTransport("ws://%s/ws" % HOST, api_key=TOKEN)):
        http = isinstance(transport, HTTPTransport)
        sandbox = await Sandbox._create(**{"http_url" if http else "ws_url": ("http://%s" if http else "ws://%s/ws") % HOST}, api_key=TOKEN, name="local")
        await drive(sandbox, http)
        if http:
            await terminal(sandbox)
        await sandbox.disconnect()


asyncio.run(main())
