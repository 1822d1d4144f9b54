import torch


def run(table, index, offsets, weights=None, mode="sum"):
    entries = index.numel()
    index, offsets = index.long(), offsets.long().clamp(0, entries)
    exists = (index >= 0) & (index < table.shape[0])
    rows = table[index.where(exists, torch.zeros_like(index))].double()
    if weights is not None:
        rows = rows * weights.double()[:, None]
    rows = rows.masked_fill(~exists[:, None], 0)
    out = rows.new_zeros(offsets.numel() - 1, table.shape[1])
    for bag, (begin, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        if begin < end:
            out[bag] = rows[begin:end].sum(0)
            if mode == "mean":
                out[bag] /= max(int(exists[begin:end].sum()), 1)
    return out.to(table.dtype)
