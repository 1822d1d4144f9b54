# SPDX-License-Identifier: Apache-2.0
"""Has KernelBench's own evaluator judge a model: `judge.py FOLDER TASK.py MODEL_NEW.py GPU`.

The folder is a checkout of KernelBench, of which src/kernelbench/eval.py is run. A line of standard input is a word that
only this process and who started it know. Prints one line: JUDGED, the word, and JSON that says whether the model compiled
and was correct, and both times in us; on another GPU than the one named it judges nothing, and names it as other_gpu. What
the judged code prints goes to standard error. Packages that only the evaluator's file names may be missing.
"""
import importlib
import json
import math
import os
import pathlib
import sys
import types

TRIALS = 5  # inputs, as KernelBench's scripts draw
NOTE_LETTERS = 300  # what a person reads in a table


def stand_in(name, **members):
    """A module of that name where none is installed."""
    try:
        importlib.import_module(name)
    except ImportError:
        module = types.ModuleType(name)
        vars(module).update(members)
        sys.modules[name] = module


class Record:
    """What the evaluator takes of pydantic's BaseModel: defaults, and fields by keyword."""

    def __init__(self, **fields):
        for name, value in vars(type(self)).items():
            if not name.startswith("_"):
                setattr(self, name, fields.get(name, value))


def microseconds(milliseconds):
    """Nothing where it is no time: the evaluator writes -1 for what it did not take."""
    if milliseconds is None or not math.isfinite(milliseconds) or milliseconds <= 0:
        return None
    return milliseconds * 1e3


def private_output():
    """Where standard output went, for the verdict alone; programs that are started do not get it."""
    own = os.dup(1)
    os.dup2(2, 1)
    return own


def secret_word():
    """The line of standard input, which is empty from now on: a file or its buffer could be read again."""
    with open(os.dup(0), encoding="utf-8") as words:
        word = words.readline().strip()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return word


def gpu_here():
    """The product on which the evaluator's PyTorch runs; nothing where it has none."""
    torch = sys.modules.get("torch")
    return torch.cuda.get_device_name() if torch and torch.cuda.is_available() else None


def main():
    verdicts = private_output()
    word = secret_word()
    folder, task, model = map(pathlib.Path, sys.argv[1:4])
    gpu = sys.argv[4]
    stand_in("pydantic", BaseModel=Record)
    stand_in("requests")
    stand_in("dotenv", load_dotenv=lambda *_, **__: None)
    stand_in("tqdm", tqdm=lambda items, *_, **__: items)
    stand_in("openai", OpenAI=object)
    stand_in("litellm", completion=None)
    sys.path.insert(0, str(folder / "src"))
    from kernelbench.eval import eval_kernel_against_ref
    if gpu_here() not in (None, gpu):
        os.write(verdicts, f"JUDGED {word} {json.dumps({'other_gpu': gpu_here()})}\n".encode())
        return
    result = eval_kernel_against_ref(task.read_text(), model.read_text(), num_correct_trials=TRIALS,
                                     measure_performance=True)
    verdict = json.dumps({
        "compiled": bool(result.compiled), "correct": bool(result.correctness), "time_us": microseconds(result.runtime),
        "eager_us": microseconds(getattr(result, "ref_runtime", None)), "note": str(result.metadata)[:NOTE_LETTERS]})
    os.write(verdicts, f"JUDGED {word} {verdict}\n".encode())


if __name__ == "__main__":
    main()
