import torch


def run(param, grad, m, v, offsets, decay, grad_scale, lr, beta1, beta2, epsilon, step, master=False):
    # Kernels are passed float32: 1 - beta2 of a double would be another number.
    lr, beta1, beta2, epsilon = torch.tensor([lr, beta1, beta2, epsilon], dtype=torch.float32).tolist()
    tensor = torch.searchsorted(offsets, torch.arange(param.numel(), device=param.device), right=True) - 1
    tensor = tensor.clamp(max=decay.numel() - 1)
    g = grad.double() * grad_scale.double()
    new_m = beta1 * m.double() + (1 - beta1) * g
    new_v = beta2 * v.double() + (1 - beta2) * g * g
    update = new_m / (1 - beta1**step) / ((new_v / (1 - beta2**step)).sqrt() + epsilon)
    new = (1 - lr * decay.double()[tensor]) * param.double() - lr * update
    padding = torch.arange(param.numel(), device=param.device) >= offsets[-1]
    new, new_m, new_v = (a.where(~padding, b.double()) for a, b in ((new, param), (new_m, m), (new_v, v)))
    results = new.to(param.dtype), new_m.to(m.dtype), new_v.to(v.dtype)
    return (*results, new.to(grad.dtype)) if master else results
