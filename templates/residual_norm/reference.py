import torch

LARGEST = {"fp8_row": 448.0, "fp8_block": 448.0, "int8_row": 127.0}


def quantised(y, store):
    """Codes and scales: of a row, or of every 128 columns of it."""
    rows, columns = y.shape
    width = 128 if store == "fp8_block" else columns
    blocks = torch.nn.functional.pad(y, (0, -columns % width)).reshape(rows, -1, width)
    scales = blocks.abs().amax(-1).clamp(min=2.0**-100) / LARGEST[store]
    codes = (blocks / scales[..., None]).reshape(rows, -1)[:, :columns]
    codes = codes.clamp(-LARGEST[store], LARGEST[store])
    if store == "int8_row":
        return torch.round(codes).to(torch.int8), scales[:, 0]
    return codes.to(torch.float8_e4m3fn), scales if store == "fp8_block" else scales[:, 0]


def run(x, residual, weight, epsilon, bias=None, kind="rmsnorm", store="same"):
    total = x.double() + residual.double()
    centred = total - total.mean(-1, keepdim=True) if kind == "layernorm" else total
    y = centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + epsilon) * weight.double()
    if bias is not None:
        y = y + bias.double()
    total = total.to(x.dtype)
    if store == "same":
        return y.to(x.dtype), total
    codes, scales = quantised(y, store)
    return codes, total, scales.float()
