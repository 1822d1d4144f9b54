def run(x, permutation):
    return x.permute([int(digit) - 1 for digit in str(permutation)]).contiguous()
