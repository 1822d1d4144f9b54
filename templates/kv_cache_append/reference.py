import torch


def run(k, v, k_cache, v_cache, slots=None, sequences=None, positions=None, block_table=None, k_scale=None, v_scale=None):
    page = k_cache.shape[1]
    if slots is None:
        batch, pages = block_table.shape
        sequences, positions = sequences.long(), positions.long()
        exists = (sequences >= 0) & (sequences < batch) & (positions >= 0) & (positions < pages * page)
        entry = block_table.long()[sequences.masked_fill(~exists, 0), positions.masked_fill(~exists, 0) // page]
        slots = (entry * page + positions % page).masked_fill(~exists, -1)
    slots = slots.long()
    last = {slot: t for t, slot in enumerate(slots.tolist()) if 0 <= slot < k_cache.shape[0] * page}
    to = torch.tensor(list(last.keys()), dtype=torch.long, device=k.device)
    tokens = torch.tensor(list(last.values()), dtype=torch.long, device=k.device)

    def written(cache, new, scale):
        if scale is not None:
            new = (new.double() / scale.double()[:, None]).clamp(-448, 448).to(cache.dtype)
        # fp8 is indexed by its bytes: PyTorch has no such operation for it.
        bits = torch.uint8 if cache.element_size() == 1 else cache.dtype
        out = cache.view(bits).flatten(0, 1).clone()
        out[to] = new.view(bits)[tokens]
        return out.view(cache.dtype).view(cache.shape)

    return written(k_cache, k, k_scale), written(v_cache, v, v_scale)
