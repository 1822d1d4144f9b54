import torch


def run(x, w, groups, x_scale=None, w_scale=None):
    contiguous = groups.numel() == w.shape[0] + 1
    height = x.shape[0] // w.shape[0]
    rows, weights = x.double(), w.double()
    if x_scale is not None:
        rows = rows * x_scale.double().repeat_interleave(128, 1)[:, : x.shape[1]]
        blocks = w_scale.double().repeat_interleave(128, 1).repeat_interleave(128, 2)
        weights = weights * blocks[:, : w.shape[1], : w.shape[2]]
    out = torch.zeros(x.shape[0], w.shape[1], dtype=torch.float64, device=x.device)
    for group in range(w.shape[0]):
        begin = int(groups[group]) if contiguous else group * height
        end = int(groups[group + 1]) if contiguous else begin + int(groups[group])
        out[begin:end] = rows[begin:end] @ weights[group].T
    return out.to(torch.bfloat16 if x_scale is not None else x.dtype)
