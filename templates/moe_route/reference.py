import torch


def run(logits, top_k, renormalize=False):
    x = logits.double()
    ids = torch.sort(x, dim=1, descending=True, stable=True).indices[:, :top_k]
    weights = torch.softmax(x, dim=1).gather(1, ids)
    if renormalize:
        weights = torch.softmax(x.gather(1, ids), dim=1)
    pairs = ids.flatten()
    order = torch.sort(pairs, stable=True).indices
    places = torch.empty_like(order)
    places[order] = torch.arange(order.numel(), device=order.device)
    counts = torch.bincount(pairs, minlength=x.shape[1])
    offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return weights.float(), ids.int(), offsets.int(), order.int(), places.int()
