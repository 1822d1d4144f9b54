import torch


def run(x, weight, x_scale, weight_scale, dtype="bfloat16"):
    k, n = x.shape[1], weight.shape[0]
    along_k = torch.arange(k, device=x.device) // 128
    columns = torch.arange(n, device=x.device)
    if weight_scale.shape[0] != n:
        columns = columns // 128
    of_x = x_scale.double().t()[:, along_k.clamp(max=x_scale.shape[0] - 1)]
    of_weight = weight_scale.double()[columns.clamp(max=weight_scale.shape[0] - 1)]
    of_weight = of_weight[:, along_k.clamp(max=weight_scale.shape[1] - 1)]
    return ((x.double() * of_x) @ (weight.double() * of_weight).t()).to(getattr(torch, dtype))
