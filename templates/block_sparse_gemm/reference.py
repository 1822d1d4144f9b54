import torch


def run(x, pointers, columns, values):
    block = values.shape[1]
    weights = torch.zeros((pointers.numel() - 1) * block, x.shape[1], dtype=torch.float64, device=x.device)
    for row in range(pointers.numel() - 1):
        for entry in range(int(pointers[row]), int(pointers[row + 1])):
            column = int(columns[entry]) * block
            weights[row * block : (row + 1) * block, column : column + block] = values[entry].double()
    return (x.double() @ weights.T).to(x.dtype)
