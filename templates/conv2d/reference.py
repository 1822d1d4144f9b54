import torch


def run(x, w, bias=None, stride=1, padding=1, dilation=1, epilogue="none"):
    y = torch.nn.functional.conv2d(x.double().permute(0, 3, 1, 2), w.double().permute(0, 3, 1, 2),
                                   None if bias is None else bias.double(), stride, padding, dilation)
    y = torch.relu(y) if epilogue == "bias_relu" else y
    return y.permute(0, 2, 3, 1).contiguous().to(x.dtype)
