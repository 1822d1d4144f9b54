# SPDX-License-Identifier: Apache-2.0
"""Small models of the structure that Hugging Face gives Llama (Mistral, Qwen), Gemma, Phi-3 and BERT."""
import torch
from torch import nn


def rotate_half(x):
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), dim=-1)


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


class RotaryEmbedding(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("inv_freq", 1e4 ** -(torch.arange(0, width, 2).float() / width), persistent=False)

    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.inv_freq.float()
        both = torch.cat((angles, angles), dim=-1)
        return both.cos().to(x.dtype), both.sin().to(x.dtype)


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        dtype = hidden_states.dtype
        hidden_states = hidden_states.float()
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(dtype)


class GemmaRMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) - 0.5)
        self.eps = eps

    def forward(self, x):
        x32 = x.float()
        return (x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + self.eps) * (1.0 + self.weight.float())).type_as(x)


class MLP(nn.Module):
    def __init__(self, width, inner, act_fn):
        super().__init__()
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)
        self.act_fn = act_fn

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class MergedMLP(nn.Module):
    def __init__(self, width, inner, act_fn):
        super().__init__()
        self.gate_up_proj = nn.Linear(width, 2 * inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)
        self.activation_fn = act_fn

    def forward(self, hidden_states):
        up_states = self.gate_up_proj(hidden_states)
        gate, up_states = up_states.chunk(2, dim=-1)
        up_states = up_states * self.activation_fn(gate)
        return self.down_proj(up_states)


class Attention(nn.Module):
    def __init__(self, width, heads, kv_heads, head, bias):
        super().__init__()
        self.heads, self.kv_heads, self.head = heads, kv_heads, head
        self.q_proj = nn.Linear(width, heads * head, bias=bias)
        self.k_proj = nn.Linear(width, kv_heads * head, bias=bias)
        self.v_proj = nn.Linear(width, kv_heads * head, bias=bias)
        self.o_proj = nn.Linear(heads * head, width, bias=False)

    def forward(self, hidden_states, position_embeddings):
        shape = (*hidden_states.shape[:-1], -1, self.head)
        query = self.q_proj(hidden_states).view(shape).transpose(1, 2)
        key = self.k_proj(hidden_states).view(shape).transpose(1, 2)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        cos, sin = position_embeddings
        query, key = apply_rotary_pos_emb(query, key, cos, sin)
        key = key.repeat_interleave(self.heads // self.kv_heads, 1)
        value = value.repeat_interleave(self.heads // self.kv_heads, 1)
        scores = (query @ key.transpose(2, 3)).float() / self.head**0.5
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        weights = scores.masked_fill(mask, float("-inf")).softmax(-1).to(value.dtype)
        return self.o_proj((weights @ value).transpose(1, 2).flatten(2))


class DecoderLayer(nn.Module):
    def __init__(self, attention, mlp, norm, width):
        super().__init__()
        self.self_attn, self.mlp = attention, mlp
        self.input_layernorm, self.post_attention_layernorm = norm(width), norm(width)

    def forward(self, hidden_states: torch.Tensor, position_embeddings: "NotImportedHere" = None) -> torch.Tensor:
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states, position_embeddings)
        hidden_states = residual + hidden_states

        # The sum is kept, and normed.
        residual = hidden_states
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        return residual + hidden_states


class Model(nn.Module):
    def __init__(self, layers, norm, width, head, words=100):
        super().__init__()
        self.embed_tokens = nn.Embedding(words, width)
        self.layers = nn.ModuleList(layers)
        self.norm = norm(width)
        self.rotary_emb = RotaryEmbedding(head)
        self.lm_head = nn.Linear(width, words, bias=False)

    def forward(self, input_ids):
        hidden_states = self.embed_tokens(input_ids)
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        position_embeddings = self.rotary_emb(hidden_states, positions)
        for layer in self.layers:
            hidden_states = layer(hidden_states, position_embeddings)
        return self.lm_head(self.norm(hidden_states))


WIDTH, INNER, HEAD = 64, 96, 64


def model(mlp=MLP, norm=RMSNorm, act_fn=nn.functional.silu, bias=False, layers=2, head=HEAD):
    """In bfloat16, always with the same weights."""
    torch.manual_seed(1)
    made = [DecoderLayer(Attention(WIDTH, 4, 2, head, bias), mlp(WIDTH, INNER, act_fn), norm, WIDTH) for _ in range(layers)]
    return Model(made, norm, WIDTH, head).bfloat16().eval()


def llama(**sizes):
    return model(**sizes)


def qwen(**sizes):
    return model(bias=True, **sizes)


def gemma(**sizes):
    return model(norm=GemmaRMSNorm, act_fn=lambda x: nn.functional.gelu(x, approximate="tanh"), **sizes)


def phi(**sizes):
    return model(mlp=MergedMLP, **sizes)


class SelfOutput(nn.Module):
    """Behind attention and behind the feed-forward of BERT."""

    def __init__(self, inner, width):
        super().__init__()
        self.dense = nn.Linear(inner, width)
        self.LayerNorm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(0.1)

    def forward(self, hidden_states: torch.Tensor, input_tensor: torch.Tensor) -> torch.Tensor:
        hidden_states = self.dense(hidden_states)
        hidden_states = self.dropout(hidden_states)
        hidden_states = self.LayerNorm(hidden_states + input_tensor)
        return hidden_states


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.value, self.intermediate = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, INNER)
        self.attention, self.output = SelfOutput(WIDTH, WIDTH), SelfOutput(INNER, WIDTH)

    def forward(self, hidden_states):
        attended = self.attention(self.value(hidden_states).mean(1, keepdim=True).expand_as(hidden_states), hidden_states)
        return self.output(nn.functional.gelu(self.intermediate(attended)), attended)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings, self.LayerNorm = nn.Embedding(100, WIDTH), nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(EncoderLayer() for _ in range(2))
        self.pooled = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, input_ids):
        hidden_states = self.LayerNorm(self.embeddings(input_ids))
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return self.pooled(hidden_states.mean(1))


def bert(**ignored):
    torch.manual_seed(1)
    return Encoder().bfloat16().eval()
