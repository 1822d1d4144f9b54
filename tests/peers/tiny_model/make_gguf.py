#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a tiny model that llama.cpp can run: the next character of a text from the one before, as a network of the
llama architecture in GGUF version 3. make_gguf.py TEXT_FILE MODEL_FILE

Embeddings are one-hot, attention and feed-forward weights zero, and the output matrix holds the logarithms of how often
one character follows another, so the network computes exactly these counts."""
import collections
import math
import struct
import sys

WIDTH = 384  # of the embedding; at least the vocabulary, a multiple of 32
NEVER, RARELY = -20.0, 0.02
STRING, FLOAT32, INT32, UINT32, BOOL = 8, 6, 5, 4, 7  # types of GGUF values
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # types of tokens
UNK, BEGIN, END, FIRST_BYTE = 0, 1, 2, 3
NEWLINE = FIRST_BYTE + ord("\n")
SPACE = "\u2581"

TOKENS = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
TOKENS += [("<0x%02X>" % byte, BYTE) for byte in range(256)]
TOKENS += [(chr(code), NORMAL) for code in range(33, 127)] + [(SPACE, NORMAL)]
INDEX = {text: index for index, (text, _) in enumerate(TOKENS)}


def token(character):
    return NEWLINE if character == "\n" else INDEX.get(SPACE if character == " " else character)


def output_weights(text):
    """A row for each next token, a column for each token before it."""
    tokens = [t for t in map(token, text) if t is not None]
    counts = collections.defaultdict(collections.Counter)
    for before, after in zip(tokens, tokens[1:]):
        counts[before][after] += 1
    for special in (UNK, BEGIN, END):
        counts[special] = counts[NEWLINE]
    rows = [[NEVER] * WIDTH for _ in TOKENS]
    for before in range(len(TOKENS)):
        total = sum(counts[before].values()) if before in counts else 0
        for after, count in (counts[before] if total else {NEWLINE: 1}).items():
            rows[after][before] = math.log(count / total) if total else -1.0
        rows[END][before] = -9.0
    rows[END][NEWLINE] = math.log(RARELY)
    scale = math.sqrt(WIDTH)  # a normed one-hot vector has this length
    return [[value / scale for value in row] for row in rows]


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def array(kind, items):
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


def metadata():
    uint = lambda value: struct.pack("<I", value)
    entries = [("general.architecture", STRING, string("llama")), ("general.name", STRING, string("tiny-bigram")),
               ("general.alignment", UINT32, uint(32)), ("general.file_type", UINT32, uint(0))]
    sizes = {"context_length": 1024, "embedding_length": WIDTH, "block_count": 1, "feed_forward_length": 32,
             "attention.head_count": 4, "attention.head_count_kv": 4, "rope.dimension_count": WIDTH // 4,
             "vocab_size": len(TOKENS)}
    entries += [("llama." + name, UINT32, uint(size)) for name, size in sizes.items()]
    entries += [
        ("llama.attention.layer_norm_rms_epsilon", FLOAT32, struct.pack("<f", 1e-5)),
        ("tokenizer.ggml.model", STRING, string("llama")), ("tokenizer.ggml.pre", STRING, string("default")),
        ("tokenizer.ggml.tokens", 9, array(STRING, [string(text) for text, _ in TOKENS])),
        ("tokenizer.ggml.scores", 9, array(FLOAT32, [struct.pack("<f", 0) for _ in TOKENS])),
        ("tokenizer.ggml.token_type", 9, array(INT32, [struct.pack("<i", kind) for _, kind in TOKENS])),
        ("tokenizer.ggml.bos_token_id", UINT32, uint(BEGIN)), ("tokenizer.ggml.eos_token_id", UINT32, uint(END)),
        ("tokenizer.ggml.unknown_token_id", UINT32, uint(UNK)),
        ("tokenizer.ggml.add_bos_token", BOOL, b"\x01"), ("tokenizer.ggml.add_space_prefix", BOOL, b"\x00"),
        ("tokenizer.chat_template", STRING, string("{% for m in messages %}{{ m.content }}\n{% endfor %}"))]
    return [string(key) + struct.pack("<I", kind) + value for key, kind, value in entries]


def tensors(text):
    floats = lambda rows: b"".join(struct.pack("<%df" % len(row), *row) for row in rows)
    one_hot = [[1.0 if j == i else 0.0 for j in range(WIDTH)] for i in range(len(TOKENS))]
    ones, zeros = floats([[1.0] * WIDTH]), lambda rows, columns: bytes(4 * rows * columns)
    yield "token_embd.weight", (WIDTH, len(TOKENS)), floats(one_hot)
    yield "output_norm.weight", (WIDTH,), ones
    yield "output.weight", (WIDTH, len(TOKENS)), floats(output_weights(text))
    for name in ("attn_norm", "ffn_norm"):
        yield f"blk.0.{name}.weight", (WIDTH,), ones
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        yield f"blk.0.{name}.weight", (WIDTH, WIDTH), zeros(WIDTH, WIDTH)
    for name, shape in (("ffn_gate", (WIDTH, 32)), ("ffn_up", (WIDTH, 32)), ("ffn_down", (32, WIDTH))):
        yield f"blk.0.{name}.weight", shape, zeros(*shape)


def padded(data):
    return data + bytes(-len(data) % 32)


def main():
    with open(sys.argv[1], errors="replace") as file:
        parts = list(tensors(file.read()))
    pairs = metadata()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(parts), len(pairs)) + b"".join(pairs)
    offset = 0
    for name, shape, data in parts:
        head += string(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", size) for size in shape)
        head += struct.pack("<IQ", 0, offset)
        offset += len(padded(data))
    with open(sys.argv[2], "wb") as file:
        file.write(padded(head))
        for _, _, data in parts:
            file.write(padded(data))


main()
