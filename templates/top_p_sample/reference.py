import torch


def run(probabilities, top_p, random):
    weights = (probabilities.double() * 2 ** 28).nan_to_num(0).floor().clamp(0, 2 ** 28 - 1).long()
    share = (top_p.double() * 65536).nan_to_num(0).floor().clamp(0, 65536).long()
    order = torch.sort(weights, dim=1, descending=True, stable=True).indices
    up_to = weights.gather(1, order).cumsum(1)
    needed = ((up_to[:, -1] * share + 65535) // 65536).clamp(min=1)
    last = (up_to < needed[:, None]).sum(1, keepdim=True).clamp(max=weights.shape[1] - 1)
    total = up_to.gather(1, last)[:, 0]
    # Of numbers up to 2^46 times 32 bits: the upper and the lower half by themselves.
    number = random.long() & 0xFFFFFFFF
    wanted = (total >> 32) * number + ((total & 0xFFFFFFFF) * (number >> 16) + ((total & 0xFFFFFFFF) * (number & 0xFFFF) >> 16) >> 16)
    chosen = (up_to <= wanted[:, None]).sum(1, keepdim=True).clamp(max=weights.shape[1] - 1)
    token = order.gather(1, chosen)[:, 0]
    return torch.where(up_to[:, -1] > 0, token, torch.full_like(token, -1)).int()
