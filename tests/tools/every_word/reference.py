import torch


def run(x, w, v, q, lengths, bin, mask, eps, gain, shift, step, flip, with_norm=True):
    rows, samples = x.shape
    taps = w.double() + v.double()
    windows = x.double().unfold(1, taps.numel(), 1)
    valid = torch.arange(windows.shape[1], device=x.device)[None] < lengths[:, None]
    y = torch.where(valid, (windows * taps).sum(-1) * gain / (1 + eps), 0.0)
    low, high = q & 15, q >> 4
    signed = [torch.where(half > 7, half.long() - 16, half.long()) for half in (low, high)]
    sums = signed[0].sum(1) + signed[1].sum(1) + shift
    counts = torch.zeros(5, dtype=torch.int32, device=x.device).index_add_(0, bin, lengths * step)
    packed = ((lengths & 15) | (bin.int() & 15) << 4).to(torch.uint8)
    results = [y.float(), sums, mask != flip, counts, packed, y.square().sum().float()]
    return tuple(results + [y.square().sum(1).sqrt().half()]) if with_norm else tuple(results)
