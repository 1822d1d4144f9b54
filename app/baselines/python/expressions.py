# SPDX-License-Identifier: Apache-2.0
"""What a user of PyTorch would write for the problems that come with AlphaKernel."""

EPSILON = {"layernorm": 1e-5, "rmsnorm": 1e-6}  # as the references have them where it is no input


def activated(torch, y, name):
    f = torch.nn.functional
    return {"none": lambda: y, "relu": lambda: torch.relu(y), "gelu": lambda: f.gelu(y), "silu": lambda: f.silu(y),
            "gelu_tanh": lambda: f.gelu(y, approximate="tanh")}[name]()


def gemm(torch, p, a, b, bias=None):
    a = a.t() if p["a_layout"] == "column" else a
    b = b.t() if p["b_layout"] == "column" else b
    if p["dtype"] == "int8":
        return torch._int_mm(a, b)
    product = torch.mm(a, b) if bias is None else torch.addmm(bias, a, b)
    return activated(torch, product, p["activation"])


def attention(torch, p, q, k, v, residual=None, **others):
    if others or p.get("window") or p.get("softcap"):
        raise RuntimeError("scaled_dot_product_attention has no windows, soft caps, slopes, sinks, scales and offsets")
    by_tokens = p.get("layout") == "tokens"
    if by_tokens:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    if p["causal"] and q.shape[2] != k.shape[2]:
        raise RuntimeError("PyTorch's causal mask starts at the first key, the problem's ends at the last")
    o = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=bool(p["causal"]), enable_gqa=q.shape[1] != k.shape[1])
    o = o.transpose(1, 2) if by_tokens else o
    return o if residual is None else o + residual


def attention_backward(torch, p, q, k, v, o, lse, dout):
    if q.is_cuda:
        return gradients_of_sdpa(torch, p, q, k, v, o, lse, dout)
    group, scale = q.shape[1] // k.shape[1], q.shape[-1] ** -0.5
    k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
    weights = torch.exp((q @ k.transpose(-1, -2)).float() * scale - lse[..., None])
    if p["causal"]:
        weights = weights.tril(k.shape[2] - q.shape[2])
    delta = (dout.float() * o.float()).sum(-1, keepdim=True)
    ds = (weights * ((dout @ v.transpose(-1, -2)).float() - delta)).to(q.dtype)
    dk, dv = ds.transpose(-1, -2) @ q * scale, weights.to(q.dtype).transpose(-1, -2) @ dout
    return ds @ k * scale, dk.unflatten(1, (-1, group)).sum(2), dv.unflatten(1, (-1, group)).sum(2)


def gradients_of_sdpa(torch, p, q, k, v, o, lse, dout):
    """What backward() runs after scaled_dot_product_attention: FlashAttention-2, or cuDNN where it alone is allowed."""
    if p["causal"] and q.shape[2] != k.shape[2]:
        raise RuntimeError("PyTorch's causal mask starts at the first key, the problem's ends at the last")
    seed = torch.empty((), dtype=torch.int64, device=q.device)  # of dropout, which there is none of
    sizes, causal = (None, None, q.shape[2], k.shape[2]), bool(p["causal"])
    if torch.backends.cuda.flash_sdp_enabled():
        return torch.ops.aten._scaled_dot_product_flash_attention_backward(
            dout, q, k, v, o, lse, *sizes, 0.0, causal, seed, seed)
    return torch.ops.aten._scaled_dot_product_cudnn_attention_backward(
        dout, q, k, v, o, lse[..., None], seed, seed, None, *sizes, 0.0, causal)


def attention_block_sparse(torch, p, q, k, v, partial_count, full_count, columns):
    s, t, block = q.shape[2], k.shape[2], p["block"]
    place = torch.arange(columns.shape[2], device=q.device)
    partial, listed = (torch.zeros(columns.shape, dtype=torch.bool, device=q.device).scatter_(
        2, columns.long(), place < count[..., None]) for count in (partial_count, partial_count + full_count))

    def of_elements(blocks):
        return blocks.repeat_interleave(block, dim=1)[:, :s].repeat_interleave(block, dim=2)[:, :, :t]

    before = torch.arange(t, device=q.device)[None, :] <= torch.arange(t - s, t, device=q.device)[:, None]
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=of_elements(listed) & (before | ~of_elements(partial)),
        enable_gqa=q.shape[1] != k.shape[1])


def attention_decode(torch, p, q, k, v, lengths, block_table=None, k_scale=None, v_scale=None):
    if block_table is not None:
        # fp8 is gathered as bytes: PyTorch has no such operation for it.
        k, v = (x.view(torch.uint8 if x.element_size() == 1 else x.dtype)[block_table].view(x.dtype).flatten(1, 2)
                for x in (k, v))
    if k_scale is not None:
        k, v = ((x.float() * scale[:, None]).to(q.dtype) for x, scale in ((k, k_scale), (v, v_scale)))
    seen = None
    if q.shape[1] > 1 or not all_full(lengths, k.shape[1]):
        last = lengths[:, None] - q.shape[1] + torch.arange(q.shape[1], device=q.device)  # key that each query sees
        seen = (torch.arange(k.shape[1], device=q.device) <= last[..., None])[:, None]
    return torch.nn.functional.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=seen,
        enable_gqa=q.shape[2] != k.shape[2]).transpose(1, 2)


def all_full(lengths, room):
    """Whether no sequence is shorter than its room, which a user knows: the host looks once at every tensor."""
    if not hasattr(lengths, "all_full"):
        lengths.all_full = bool((lengths == room).all())
    return lengths.all_full


def attention_mla_decode(torch, p, q, kv, lengths, block_table=None, scale=1.0):
    if block_table is not None:
        kv = kv[block_table].flatten(1, 2)
    last = lengths[:, None] - q.shape[1] + torch.arange(q.shape[1], device=q.device)  # key that each query sees
    seen = torch.arange(kv.shape[1], device=q.device) <= last[..., None]
    scores = torch.einsum("bihd,bjd->bhij", q, kv).float() * scale
    scores = scores.masked_fill(~seen[:, None], float("-inf"))
    # A query that sees no key has no softmax, and a result of zero.
    weights = torch.softmax(scores, dim=-1).nan_to_num(0).to(q.dtype)
    return (torch.einsum("bhij,bjd->bihd", weights, kv[..., :512]),
            torch.logsumexp(scores, dim=-1).transpose(1, 2))


def linear_fp8(torch, p, x, weight, x_scale, weight_scale):
    if p["scales"] == "block":
        raise RuntimeError("PyTorch's scaled product has no scales of 1 x 128 by 128 x 128 on every device")
    rows, columns = (x_scale.t(), weight_scale.t()) if p["scales"] == "row" else (x_scale[0, 0], weight_scale[0, 0])
    return torch._scaled_mm(x, weight.t(), rows, columns, out_dtype=getattr(torch, p["dtype"]))


def linear_int8(torch, p, x, weight, x_scale, weight_scale, bias=None):
    y = torch._int_mm(x, weight.t()) * x_scale[:, None] * weight_scale
    return (y if bias is None else y + bias).to(getattr(torch, p["dtype"]))


def linear_w4a16(torch, p, x, weight, scale, zero=None):
    k = x.shape[1]
    numbers = torch.stack([weight & 15, weight >> 4], dim=-1).reshape(weight.shape[0], -1)[:, :k].to(x.dtype)
    group = torch.arange(k, device=x.device) // 128
    zeros = 8 if zero is None else zero.to(x.dtype)[:, group]
    return torch.nn.functional.linear(x, (numbers - zeros) * scale[:, group])


def block_sparse_gemm(torch, p, x, pointers, columns, values):
    size = ((pointers.numel() - 1) * values.shape[1], x.shape[1])
    return (torch.sparse_bsr_tensor(pointers, columns, values, size=size) @ x.t()).t()


def grouped_gemm(torch, p, x, w, groups, x_scale=None, w_scale=None):
    if x_scale is not None:
        raise RuntimeError("PyTorch's grouped product has no scales of 1 x 128 by 128 x 128")
    if p["layout"] == "contiguous":
        return torch._grouped_mm(x, w.transpose(1, 2), offs=groups[1:])
    products = torch.bmm(x.view(w.shape[0], -1, x.shape[1]), w.transpose(1, 2))
    used = torch.arange(products.shape[1], device=x.device) < groups[:, None]
    return (products * used[:, :, None]).reshape(x.shape[0], -1)


def moe_swiglu(torch, p, x, ids, routing, gate_up, down):
    out = torch.zeros(x.shape, dtype=torch.float32, device=x.device)
    for expert in range(down.shape[0]):
        tokens, choices = (ids == expert).nonzero(as_tuple=True)
        gate, up = (x[tokens] @ gate_up[expert].t()).chunk(2, dim=1)
        result = (torch.nn.functional.silu(gate) * up) @ down[expert].t()
        out.index_add_(0, tokens, routing[tokens, choices][:, None] * result)
    return out.to(x.dtype)


LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0, "int8": 127.0}


def coded(torch, x, to, scale):
    """x / scale as codes of that type."""
    codes = x.float() / scale
    return (codes.round() if to == "int8" else codes).clamp(-LARGEST[to], LARGEST[to]).to(getattr(torch, to))


def quantised(torch, x, to, blocks):
    """Codes, and the scales of rows or of every 128 elements of one."""
    if not blocks:
        scale = x.float().abs().amax(-1).clamp(min=2.0**-100) / LARGEST[to]
        return coded(torch, x, to, scale[:, None]), scale
    parts = torch.nn.functional.pad(x, (0, -x.shape[1] % 128)).unflatten(1, (-1, 128))
    scale = parts.float().abs().amax(-1).clamp(min=2.0**-100) / LARGEST[to]
    return coded(torch, parts, to, scale[..., None]).flatten(1)[:, :x.shape[1]], scale


def cast_quantise(torch, p, x, scale=None):
    if scale is not None:
        return coded(torch, x, p["to"], scale)
    return quantised(torch, x, p["to"], p["scales"] == "block")


def dropout(torch, y):
    """y and the mask. As fast with any share; the problem's is a tensor, which would have to come to the host first."""
    return torch.native_dropout(y, 0.1, True)


def layernorm_dropout(torch, params, x, weight, bias, seed, p):
    return dropout(torch, torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, EPSILON["layernorm"]))


def fused_elementwise(torch, params, x, b=None, r=None, seed=None, p=None, factor=None, low=None, high=None,
                      y_scale=None):
    y = activated(torch, x if b is None else x + b, params["activation"])
    y = y if factor is None else y * factor
    y = y if seed is None else dropout(torch, y)[0]
    y = y if r is None else y + r
    y = y if low is None else y.clamp(low, high)
    if params["store"] == "same":
        return y.to(x.dtype)
    return y.float() if params["store"] == "float32" else coded(torch, y, params["store"], y_scale)


def residual_norm(torch, p, x, residual, weight, epsilon, bias=None):
    f, total = torch.nn.functional, x + residual
    y = (f.layer_norm(total, total.shape[-1:], weight, bias, epsilon) if p["kind"] == "layernorm" else
         f.rms_norm(total, total.shape[-1:], weight, epsilon))
    if p["store"] == "same":
        return y, total
    to = "int8" if p["store"] == "int8_row" else "float8_e4m3fn"
    codes, scales = quantised(torch, y, to, p["store"] == "fp8_block")
    return codes, total, scales


def rope(torch, p, q, k, cos_sin, positions):
    cosine, sine = (part[:, None, :] for part in torch.nn.functional.embedding(positions, cos_sin).chunk(2, -1))
    turned = 2 * cosine.shape[-1]

    def of(x):
        a, b = ((x[..., 0:turned:2], x[..., 1:turned:2]) if p["style"] == "interleaved" else
                (x[..., :turned // 2], x[..., turned // 2:turned]))
        pair = (a * cosine - b * sine, b * cosine + a * sine)
        both = torch.stack(pair, -1).flatten(-2) if p["style"] == "interleaved" else torch.cat(pair, -1)
        return torch.cat((both.to(x.dtype), x[..., turned:]), -1)

    return of(q), of(k)


def swiglu(torch, p, x):
    gate, up = x.chunk(2, -1) if p["layout"] == "halves" else (x[:, 0::2], x[:, 1::2])
    return activated(torch, gate, p["function"]) * up


def cross_entropy(torch, p, logits, target, ignore_index, smoothing, dloss=None):
    def loss_of(x):
        return torch.nn.functional.cross_entropy(x, target, ignore_index=int(ignore_index),
                                                 label_smoothing=float(smoothing), reduction="none")
    if dloss is None:
        return loss_of(logits).float()
    with torch.enable_grad():
        x = logits.detach().requires_grad_()
        loss = loss_of(x)
        (slope,) = torch.autograd.grad(loss, x, dloss.to(loss.dtype))
    return loss.detach().float(), slope


def embedding_bag(torch, p, table, index, offsets, weights=None):
    if weights is not None and p["mode"] != "sum":
        raise RuntimeError("PyTorch's embedding_bag has weights for sums alone")
    return torch.nn.functional.embedding_bag(
        index, table, offsets, mode=p["mode"], include_last_offset=True,
        per_sample_weights=None if weights is None else weights.to(table.dtype))


def embedding_lookup(torch, p, table, index, padding):
    return torch.nn.functional.embedding(index, table).masked_fill((index == padding)[:, None], 0)


def groupnorm(torch, p, x, weight, bias, epsilon):
    y = torch.nn.functional.group_norm(x, p["groups"], weight, bias, epsilon)
    return activated(torch, y, p["activation"])


def mean_pool_l2norm(torch, p, x, lengths):
    seen = torch.arange(x.shape[1], device=x.device)[None, :] < lengths[:, None]
    mean = (x * seen[:, :, None]).sum(dim=1, dtype=torch.float32) / lengths.clamp(min=1)[:, None]
    return torch.nn.functional.normalize(mean, dim=1, eps=1e-12).to(x.dtype)


def moe_route(torch, p, logits):
    weights, ids = torch.softmax(logits, dim=1, dtype=torch.float32).topk(p["top_k"], dim=1)
    if p["renormalize"]:
        weights = weights / weights.sum(dim=1, keepdim=True)
    pairs = ids.flatten()
    order = torch.sort(pairs, stable=True).indices
    places = torch.empty_like(order).scatter_(0, order, torch.arange(order.numel(), device=order.device))
    offsets = torch.searchsorted(pairs[order], torch.arange(logits.shape[1] + 1, device=logits.device))
    return weights, ids.int(), offsets.int(), order.int(), places.int()


def kv_cache_append(torch, p, k, v, k_cache, v_cache, slots=None, sequences=None, positions=None, block_table=None,
                    k_scale=None, v_scale=None):
    page = k_cache.shape[1]
    if slots is None:
        slots = block_table[sequences, positions // page] * page + positions % page
    for cache, new, scale in ((k_cache, k, k_scale), (v_cache, v, v_scale)):
        # fp8 is written as bytes: PyTorch has no such operation for it.
        codes = new if scale is None else coded(torch, new, "float8_e4m3fn", scale[:, None]).view(torch.uint8)
        cache.view(codes.dtype).flatten(0, 1)[slots] = codes
    return k_cache, v_cache


def row_reduce(torch, p, x):
    if p["op"] == "var":
        return x.var(dim=1)
    return getattr(x, {"max": "amax", "min": "amin"}.get(p["op"], p["op"]))(dim=1)


def encoder(torch, p, ids, lengths, table, positions, qkv, out, weight_1, bias_1, up, down, weight_2, bias_2):
    f, s, h, d = torch.nn.functional, ids.shape[1], table.shape[1], p["head_dim"]
    seen = torch.arange(s, device=ids.device)[None, :] < lengths[:, None]
    x = f.embedding(ids, table) + positions
    q, k, v = f.linear(x, qkv).unflatten(-1, (3, h // d, d)).permute(2, 0, 3, 1, 4)
    attended = f.scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None, None, :]).transpose(1, 2).flatten(2)
    x = f.layer_norm(x + f.linear(attended, out), (h,), weight_1, bias_1, EPSILON["layernorm"])
    x = f.layer_norm(x + f.linear(f.gelu(f.linear(x, up)), down), (h,), weight_2, bias_2, EPSILON["layernorm"])
    mean = (x * seen[:, :, None]).sum(dim=1, dtype=torch.float32) / lengths.clamp(min=1)[:, None]
    return f.normalize(mean, dim=1, eps=1e-12).to(x.dtype)


def adamw(torch, p, param, grad, m, v, offsets, decay, grad_scale, lr, beta1, beta2, epsilon, step):
    g = grad.float() * grad_scale
    m.lerp_(g, 1 - beta1)
    v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    update = m / (1 - beta1**step) / ((v / (1 - beta2**step)).sqrt() + epsilon)
    decays = decay.repeat_interleave(offsets.diff(), output_size=param.numel())
    param.copy_(param * (1 - lr * decays) - lr * update)
    return (param, m, v, param.to(grad.dtype)) if p["master"] else (param, m, v)


def selective_scan(torch, p, u, delta, a, b, c, skip, bias, z=None):
    f, shared = torch.nn.functional, u.shape[1] // b.shape[1]
    step = f.softplus(delta.float() + bias[:, None])
    b, c = (x.float().repeat_interleave(shared, dim=1) for x in (b, c))
    h, sums, inputs = torch.zeros_like(a), [], step * u.float()
    for t in range(u.shape[2]):
        h = torch.exp(step[:, :, t, None] * a) * h + inputs[:, :, t, None] * b[..., t]
        sums.append((h * c[..., t]).sum(-1))
    y = torch.stack(sums, -1) + skip[:, None] * u.float()
    return (y if z is None else y * f.silu(z.float())).to(u.dtype), h


def conv2d(torch, p, x, w, bias=None):
    y = torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2), bias, p["stride"], p["padding"],
                                   p["dilation"])
    return (torch.relu(y) if p["epilogue"] == "bias_relu" else y).permute(0, 2, 3, 1)


def fft(torch, p, x):
    transform = torch.fft.fft if p["direction"] == "forward" else torch.fft.ifft
    return torch.view_as_real(transform(torch.view_as_complex(x)))


def top_p_sample(torch, p, probabilities, top_p, random):
    ordered, order = probabilities.float().sort(dim=1, descending=True)
    up_to = ordered.cumsum(1)
    kept = up_to - ordered < top_p[:, None] * up_to[:, -1:]
    wanted = (random.long() & 0xFFFFFFFF).float() / 2**32 * (ordered * kept).sum(1)
    chosen = torch.searchsorted(up_to, wanted[:, None], right=True).clamp(max=ordered.shape[1] - 1)
    return order.gather(1, chosen)[:, 0].int()


def scan(torch, p, x):
    sums = x.cumsum(1, dtype=x.dtype)
    return torch.nn.functional.pad(sums[:, :-1], (1, 0)) if p["exclusive"] else sums


def segmented_scan(torch, p, x, keys):
    starts = torch.nn.functional.pad(keys[1:] != keys[:-1], (1, 0), value=True)
    sums = x.cumsum(0, dtype=torch.float64 if x.is_floating_point() else torch.int64)
    before = (sums - x)[starts.nonzero().flatten()][starts.cumsum(0) - 1]  # NaN of one segment shows in those behind it
    return (sums - before - (x if p["exclusive"] else 0)).to(x.dtype)


def histogram(torch, p, keys):
    if p["dtype"] == "int32":
        keys = keys[(keys >= 0) & (keys < p["bins"])]
    return torch.bincount(keys, minlength=p["bins"])[:p["bins"]].int()


def radix_sort(torch, p, keys, values=None):
    wide = keys if p["dtype"] == "int32" else keys.view(torch.int32) ^ -2**31  # PyTorch sorts no unsigned numbers
    ordered, order = torch.sort(wide, dim=0, stable=bool(p["values"]), descending=bool(p["descending"]))
    ordered = ordered if p["dtype"] == "int32" else (ordered ^ -2**31).view(keys.dtype)
    return ordered if values is None else (ordered, values[order])


# What a user of PyTorch would write, by problem: f(torch, params, **inputs).
EAGER = {
    "activation": lambda torch, p, x: activated(torch, x, p["function"]),
    "adamw": adamw,
    "attention_backward": attention_backward,
    "attention_block_sparse": attention_block_sparse,
    "attention_decode": attention_decode,
    "attention_mla_decode": attention_mla_decode,
    "block_sparse_gemm": block_sparse_gemm,
    "cast_quantise": cast_quantise,
    "conv2d": conv2d,
    "copy": lambda torch, p, x: x.clone(),
    "cross_entropy": cross_entropy,
    "embedding_bag": embedding_bag,
    "embedding_lookup": embedding_lookup,
    "encoder": encoder,
    "fft": fft,
    "flash_attention": attention,
    "fused_elementwise": fused_elementwise,
    "gather": lambda torch, p, x, index: x.gather(1, index.long()),
    "gemm": gemm,
    "grouped_gemm": grouped_gemm,
    "groupnorm": groupnorm,
    "histogram": histogram,
    "kv_cache_append": kv_cache_append,
    "l2norm": lambda torch, p, x: torch.nn.functional.normalize(x, dim=-1, eps=1e-12),
    "layernorm": lambda torch, p, x, weight, bias, epsilon=EPSILON["layernorm"]: torch.nn.functional.layer_norm(
        x, x.shape[-1:], weight, bias, epsilon),
    "layernorm_dropout": layernorm_dropout,
    "linear": lambda torch, p, x, weight, bias: activated(
        torch, torch.nn.functional.linear(x, weight, bias), p["activation"]),
    "linear_fp8": linear_fp8,
    "linear_int8": linear_int8,
    "linear_swiglu": lambda torch, p, x, gate, up: (
        activated(torch, torch.nn.functional.linear(x, gate), p["function"]) * torch.nn.functional.linear(x, up)),
    "linear_w4a16": linear_w4a16,
    "linear_w8a16": lambda torch, p, x, weight, scale: torch.nn.functional.linear(x, weight.to(x.dtype)) * scale,
    "log_softmax": lambda torch, p, x: torch.log_softmax(x, dim=-1),
    "mean_pool_l2norm": mean_pool_l2norm,
    "moe_route": moe_route,
    "moe_swiglu": moe_swiglu,
    "radix_sort": radix_sort,
    "reduce_sum": lambda torch, p, x: x.sum(),
    "residual_norm": residual_norm,
    "rmsnorm": lambda torch, p, x, weight, epsilon=EPSILON["rmsnorm"]: torch.nn.functional.rms_norm(
        x, x.shape[-1:], weight, epsilon),
    "rope": rope,
    "row_reduce": row_reduce,
    "scan": scan,
    "scatter_add": lambda torch, p, base, rows, index: base.index_add(0, index, rows),
    "segmented_scan": segmented_scan,
    "selective_scan": selective_scan,
    "softmax": lambda torch, p, x: torch.nn.functional.softmax(x, dim=-1),
    "spmv": lambda torch, p, pointers, columns, values, x: torch._sparse_csr_tensor_unsafe(  # columns are in any order
        pointers, columns, values, (pointers.numel() - 1, x.numel())) @ x,
    "swiglu": swiglu,
    "top_k": lambda torch, p, x: x.topk(p["top_k"], dim=1),
    "top_p_sample": top_p_sample,
    "transpose": lambda torch, p, x: x.t().contiguous(),
    "transpose_inplace": lambda torch, p, x: x.copy_(x.t().contiguous()),
    "transpose_nd": lambda torch, p, x: x.permute([int(digit) - 1 for digit in str(p["permutation"])]).contiguous(),
    "vector_add": lambda torch, p, a, b: a + b,
}
