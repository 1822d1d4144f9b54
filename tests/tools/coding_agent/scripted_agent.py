# SPDX-License-Identifier: Apache-2.0
"""A coding agent without a model: it reads its question, calls the tools of the MCP server and answers, or misbehaves.

scripted_agent.py MODE [KERNEL.md ...]; what it saw goes to $HOME/seen.json, the processes that it started to $HOME/pids.
"""
import json
import os
import signal
import subprocess
import sys
import time

MODE, ANSWERS = sys.argv[1], sys.argv[2:]
HOME = os.environ["HOME"]
QUESTION = json.load(open("question.json"))


def source(name):
    return open(name).read().split("```cuda\n")[1].split("```")[0]


def descriptors():
    """What this process has inherited; the folder that is listed is none of these."""
    links = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    return sorted(os.readlink(link).split(":")[0] for link in links if os.path.exists(link) and "/proc/" not in os.readlink(link))


class Server:
    def __init__(self):
        entry = json.load(open("mcp.json"))["mcpServers"]["alphakernel"]
        self.process = subprocess.Popen([entry["command"], *entry["args"]], env={**os.environ, **entry["env"]},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "s", "version": "1"}})

    def request(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.number:
                return answer
        raise SystemExit("the server is gone")

    def call(self, tool, arguments):
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        if "result" not in answer:
            return {"isError": True, "text": answer["error"]["message"]}
        result = answer["result"]
        return result.get("structuredContent") or {"isError": True, "text": result["content"][0]["text"]}


def note(**seen):
    with open(os.path.join(HOME, "seen.json"), "w") as out:
        json.dump(seen, out)


def note_processes(*pids):
    with open(os.path.join(HOME, "pids.new"), "w") as out:
        out.write(" ".join(map(str, pids)))
    os.rename(os.path.join(HOME, "pids.new"), os.path.join(HOME, "pids"))


def answer(text, name=None):
    with open("answer.md", "w") as out:
        out.write(f"answers: {name or QUESTION['name']}\nby: scripted\n{text}")


def tries():
    inherited = descriptors()
    server = Server()
    tools = sorted(tool["name"] for tool in server.request("tools/list", {})["result"]["tools"])
    kernels = [source(name).replace("count", "n") for name in ANSWERS]
    tried = [server.call("evaluate", {"source": kernel, "wait_s": 500}) for kernel in kernels]
    if "variant" not in tried[-1]:
        return answer(open(ANSWERS[-1]).read())  # the search has no room for more
    again = server.call("evaluate", {"source": kernels[0], "wait_s": 500})
    profile = server.call("profile", {"variant": tried[-1]["variant"], "wait_s": 500})
    rows = server.call("query", {"sql": "SELECT count(*) FROM searches"})
    refused = [server.call("search", {"problem": "vector_add"}), server.call("profile", {"problem": "softmax", "source": "x"}),
               server.call("explain", {"variant": tried[-1]["variant"], "ablate": True}), server.call("evaluate", {"path": "../x.cu", "wait_s": 500})]
    explained = server.call("explain", {"variant": tried[-1]["variant"], "wait_s": 500})
    note(tools=tools, tried=tried, again=again, profile=profile, rows=rows, refused=refused, explained=explained, inherited=inherited,
         question=QUESTION,
         environment=sorted(os.environ), folder=sorted(os.listdir(".")), text=open("question.md").read())
    answer(open(ANSWERS[-1]).read())
    print(json.dumps({"type": "turn.completed", "usage": {"input_tokens": 700, "cached_input_tokens": 100, "output_tokens": 30}}))


def forever():
    sleeper = subprocess.Popen(["sleep", "100000"], start_new_session=True)
    server = Server()
    note_processes(os.getpid(), sleeper.pid, server.process.pid, os.getppid())
    time.sleep(100000)


def twice():
    """Of the first question it tries two kernels and answers with the second; the next it works on forever, others get another kernel."""
    if os.path.exists(os.path.join(HOME, "pids")):
        answer(open(ANSWERS[0]).read() + "// another one\n")
        return
    if os.path.exists(os.path.join(HOME, "answered")):
        note_processes(os.getpid())
        time.sleep(100000)
    for name in ANSWERS:
        Server().call("evaluate", {"source": source(name), "wait_s": 500})
    answer(open(ANSWERS[-1]).read())
    open(os.path.join(HOME, "answered"), "w").close()


def waits():
    """It tries kernels in three ways, of the first question, and works on it forever; others get another kernel."""
    if os.path.exists(os.path.join(HOME, "pids")):
        answer(open(ANSWERS[0]).read() + "// another one\n")
        return
    Server().call("evaluate", {"source": "no kernel", "wait_s": 500})
    Server().call("evaluate", {"tunables": {"BLOCK": 512}, "wait_s": 500})
    for name in ANSWERS:
        Server().call("evaluate", {"source": source(name), "wait_s": 500})
    note_processes(os.getpid())
    time.sleep(100000)


def pesters():
    for number in range(5000):
        with open(f"trials/{number}.ask.json", "w") as out:
            out.write("{}")
    time.sleep(100000)


def greedy():
    server = Server()
    kernel = source(ANSWERS[0])
    told = [server.call("evaluate", {"source": kernel + f"// {i}\n", "wait_s": 500}) for i in range(4)]
    note(told=told)
    answer(open(ANSWERS[0]).read())


def leaves():
    for name in ANSWERS:
        Server().call("evaluate", {"source": source(name), "wait_s": 500})
    os.kill(os.getpid(), signal.SIGKILL)


def floods():
    while True:
        sys.stdout.write("\x1b[31mflood " * 10000)


def tells():
    key = os.environ["MY_KEY"]
    print("the key is", key)
    Server().call("evaluate", {"source": source(ANSWERS[0]) + f"// {key}\n", "wait_s": 500})
    answer(f"// {key}\n" + open(ANSWERS[0]).read())


def moves():
    folder = os.getcwd()
    os.rename(folder, folder + ".moved")
    os.symlink(HOME, folder)
    os.symlink(ANSWERS[0], "answer.md")


def fails():
    sys.stderr.write("\x1b[31mwords " * 20000 + "\nnobody is logged in\n")
    sys.exit(-1)


def spends():
    with open("usage.json", "w") as out:
        json.dump({"input_tokens": 10, "output_tokens": 5, "cost_usd": 7.5}, out)
    time.sleep(100000)


{"tries": tries, "forever": forever, "greedy": greedy, "leaves": leaves, "floods": floods, "tells": tells, "spends": spends,
 "fails": fails, "moves": moves, "twice": twice, "waits": waits, "pesters": pesters, "nothing": lambda: None, "other": lambda: answer(open(ANSWERS[0]).read(), "0099-aaaaaaaa"),
 "killed": lambda: os.kill(os.getpid(), signal.SIGKILL)}[MODE]()
