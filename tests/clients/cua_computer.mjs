// SPDX-License-Identifier: Apache-2.0
// Cua's own client for computers, @trycua/computer, against thole serve --cua --cua-open. It knows only the address of
// its cloud; `ip` is what it lets others say.
import assert from 'node:assert/strict';
import { Computer, OSType } from '@trycua/computer';

class Local extends Computer {
  get ip() {
    return `127.0.0.1:${process.env.PORT}`;
  }
}

const computer = new Local({ name: 'local', osType: OSType.LINUX, apiKey: '' });
await computer.run();
const i = computer.interface;
assert.deepEqual(await i.getScreenSize(), { width: 1280, height: 800 });
assert.equal((await i.screenshot()).subarray(0, 4).toString('hex'), '89504e47');
await i.leftClick(10, 20);
assert.deepEqual(await i.getCursorPosition(), { x: 10, y: 20 });
await i.drag([[1, 1], [2, 2], [3, 3]]);
assert.deepEqual(await i.getCursorPosition(), { x: 3, y: 3 });
await i.rightClick(30, 40);
await i.doubleClick(30, 40);
await i.moveCursor(50, 60);
await i.mouseDown(50, 60);
await i.dragTo(70, 80);
await i.mouseUp(70, 80);
await i.hotkey('ctrl', 'a');
await i.pressKey('pagedown');
await i.typeText('hello');
await i.scroll(0, -3);
await i.scrollUp(2);
await i.scrollDown();
await i.setClipboard('clip é');
assert.equal(await i.copyToClipboard(), 'clip é');
await i.createDir('client');
await i.writeText('client/t', 'text é');
assert.equal(await i.readText('client/t'), 'text é');
const big = Buffer.alloc(6 * 1024 * 1024 + 7, 'abcdefg');
await i.writeBytes('client/b', big); // in pieces of 1 MiB
assert.ok(Buffer.from(await i.readBytes('client/b')).equals(big));
assert.deepEqual((await i.listDir('client')).sort(), ['b', 't']);
assert.ok(await i.fileExists('client/b'));
assert.ok(await i.directoryExists('client'));
assert.deepEqual(await i.runCommand('echo hi'), ['hi\n', '']);
await i.deleteFile('client/b');
assert.ok(!(await i.fileExists('client/b')));
await assert.rejects(i.readText('client/none'), /No such file/);
assert.ok(JSON.stringify(await i.getAccessibilityTree()).includes('Desktop'));
const all = await Promise.all(Array.from({ length: 50 }, () => i.getCursorPosition()));
assert.equal(all.length, 50);
await computer.disconnect?.();
process.exit(0);
