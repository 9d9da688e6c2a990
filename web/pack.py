# SPDX-License-Identifier: Apache-2.0
"""Packs the files of the page into one C file: each compressed, with its type and its tag.

usage: pack.py OUT.c FILE...

With file.js among them, the player of exported sessions is made too: replay.html in two halves, between which the data of
a session go.  Its modules become one script, because a page on a disk may not load modules, and the page names the
hashes of that script and of its style as all that may run.
"""

import base64
import gzip
import hashlib
import pathlib
import re
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
SIZE_MAX = 200 * 1024  # of all files that are served, compressed
IMPORT = re.compile(r"^import \{([^}]*)\} from '\./([a-z_]+)\.js';\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|let|class) (\w+))", re.MULTILINE)
ENTRY = "file"


def fail(text):
    sys.exit(f"pack.py: {text}")


def modules(texts, name, done, above=()):
    """The modules that `name` needs, and then itself, each once."""
    if name in above:
        fail(f"{name}.js imports itself, by way of {' '.join(above)}")
    if name in done:
        return
    if name not in texts:
        fail(f"{above[-1]}.js imports {name}.js, which is not in meson.build")
    for _, other in IMPORT.findall(texts[name]):
        modules(texts, other, done, (*above, name))
    done.append(name)


def bundle(texts):
    """One script of all modules that the player needs: each a function that gives its exports."""
    order = []
    modules(texts, ENTRY, order)
    out = ["'use strict';\n"]
    for name in order:
        text = IMPORT.sub(lambda m: f"const {{{m.group(1).replace(' as ', ': ')}}} = m_{m.group(2)};\n", texts[name])
        names = EXPORT.findall(text)
        text = EXPORT.sub("", text)
        if re.search(r"^(?:import|export)\b", text, re.MULTILINE):
            fail(f"{name}.js imports or exports in another form than pack.py knows")
        out.append(f"const m_{name} = (() => {{\n{text}\nreturn {{ {', '.join(names)} }};\n}})();\n")
    script = "".join(out)
    if re.search(r"</script|<!--", script, re.IGNORECASE):
        fail("a module has text that ends a script in HTML")
    return script


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def player(texts, style):
    """The two halves of replay.html."""
    script = bundle(texts)
    policy = (
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        f'<title>thole: a session</title>\n<style>{style}</style>\n</head>\n<body class="file">\n'
        '<div id="app"><p class="boot">Reading the session…</p></div>\n'
    )
    return head, f"<script>{script}</script>\n</body>\n</html>\n"


def as_bytes(data):
    return "\n".join("\t" + "".join(f"{b}," for b in data[at : at + 40]) for at in range(0, len(data), 40))


def main(out, *paths):
    paths = sorted(map(pathlib.Path, paths), key=lambda p: p.name)
    rows = [(p.name, TYPES[p.suffix], p.read_bytes()) for p in paths]
    total = sum(len(gzip.compress(data, 9, mtime=0)) for _, _, data in rows)
    if total > SIZE_MAX:
        fail(f"the page has {total} bytes compressed, more than {SIZE_MAX}")
    texts = {p.stem: p.read_text(encoding="utf-8") for p in paths if p.suffix == ".js"}
    if ENTRY in texts:
        style = next(p.read_text(encoding="utf-8") for p in paths if p.name == "app.css")
        head, tail = player(texts, style)
        rows += [("replay_head", None, head.encode()), ("replay_tail", None, tail.encode())]
    with open(out, "w", encoding="ascii") as file:
        file.write(f"/* SPDX-License-Identifier: Apache-2.0 */\n/* made by web/pack.py; {total} bytes are served */\n")
        file.write('#include "sessions_api/page.h"\n\n')
        table = []
        for number, (name, kind, data) in enumerate(rows):
            packed = gzip.compress(data, 9, mtime=0)
            tag = hashlib.sha256(data).hexdigest()[:24]
            file.write(f"static const uint8_t file_{number}[] = {{\n{as_bytes(packed)}\n}};\n")
            kind = f'"{kind}"' if kind else "NULL"
            table.append(f'\t{{ "{name}", {kind}, "\\"{tag}\\"", file_{number}, sizeof(file_{number}), {len(data)} }},\n')
        file.write("\nconst struct th_page_file th_page_files[] = {\n" + "".join(table))
        file.write("\t{ NULL, NULL, NULL, NULL, 0, 0 },\n};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
