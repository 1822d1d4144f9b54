import torch


def run(table, index, padding):
    index = index.long()
    missing = (index == padding) | (index < 0) | (index >= table.shape[0])
    rows = table[index.masked_fill(missing, 0)]
    return rows.masked_fill(missing[:, None], 0)
