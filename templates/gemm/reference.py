import torch


def run(a, b, bias=None, a_layout="row", b_layout="row", activation="none", precision="ieee"):
    a64 = a.double() if a_layout == "row" else a.double().t()
    b64 = b.double() if b_layout == "row" else b.double().t()
    c = a64 @ b64
    if bias is not None:
        c = c + bias.double()
    if activation == "relu":
        c = torch.relu(c)
    elif activation == "gelu":
        c = torch.nn.functional.gelu(c)
    elif activation == "silu":
        c = torch.nn.functional.silu(c)
    return c.to(torch.int32 if a.dtype == torch.int8 else a.dtype)
