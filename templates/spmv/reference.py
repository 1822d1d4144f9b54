import torch


def run(pointers, columns, values, x):
    rows = torch.repeat_interleave(torch.arange(len(pointers) - 1, device=x.device), pointers.diff().long())
    columns = columns.long()
    exists = (columns >= 0) & (columns < x.shape[0])
    products = values[exists].double() * x[columns[exists]].double()
    sums = torch.zeros(len(pointers) - 1, dtype=torch.float64, device=x.device)
    return sums.index_add(0, rows[exists], products).to(x.dtype)
