#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chat Completions on this machine: the model NAME answers with answers/NAME.1.md, NAME.2.md and so on where they are
there, the next one each time its last answer is quoted to it, else with the files of drafts/NAME or wrong/NAME.
NAME_kernel answers with kernels/NAME.cu.

    serve_answers.py PORT FOLDER    # this record's folder
"""
import http.server
import json
import pathlib
import sys

FOLDER = pathlib.Path(sys.argv[2])
FILES = {"problem.json": "json", "workloads.jsonl": "jsonl", "reference.cu": "cuda", "examples.json": "json"}


def drafted(folder):
    """A whole draft as an answer."""
    blocks = []
    for name, language in FILES.items():
        text = (folder / name).read_text()
        if name == "problem.json":  # the program adds `reference`, which a draft may not have
            text = json.dumps({k: v for k, v in json.loads(text).items() if k != "reference"}, indent=1)
        blocks.append(f"```{language} {name}\n{text.rstrip()}\n```\n")
    return "\n".join(blocks)


def answer(name, quoted):
    """The answer of the model `name` whose last answer was `quoted`."""
    if name.endswith("_kernel"):
        kernel = (FOLDER / "kernels" / (name.removesuffix("_kernel") + ".cu")).read_text()
        return f"A plain kernel, one pass.\n\n```cuda\n{kernel}```\n"
    given = sorted((FOLDER / "answers").glob(name + ".*.md"))
    last = [i for i, file in enumerate(given) if file.read_text()[:60] in quoted]
    if given:
        return given[min(last[-1] + 1 if last else 0, len(given) - 1)].read_text()
    return drafted(next(FOLDER / kind / name for kind in ("drafts", "wrong") if (FOLDER / kind / name).is_dir()))


class Server(http.server.BaseHTTPRequestHandler):
    """One model list without names, and answers in one piece."""

    def reply(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply({"object": "list", "data": []})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        quoted = "".join(m["content"] for m in asked["messages"] if m["role"] == "assistant")
        text = answer(asked["model"], quoted)
        size = sum(len(m["content"]) for m in asked["messages"]) // 4
        self.reply({"object": "chat.completion", "model": asked["model"],
                    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                    "usage": {"prompt_tokens": size, "completion_tokens": len(text) // 4}})


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Server).serve_forever()
