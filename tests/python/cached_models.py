# SPDX-License-Identifier: Apache-2.0
"""A small model whose attention, masks and caches have the interfaces of Hugging Face's version 5."""
import collections.abc
import math
import types

import torch
from small_models import MLP, GemmaRMSNorm, MergedMLP, RMSNorm, RotaryEmbedding, apply_rotary_pos_emb
from torch import nn

WIDTH, INNER, HEADS, KV_HEADS = 64, 96, 4, 2


def sdpa(module, query, key, value, attention_mask, dropout=0.0, scaling=None, is_causal=None, **kwargs):
    groups = getattr(module, "num_key_value_groups", 1)
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = (query @ key.transpose(2, 3)).float() * (scaling or query.shape[-1] ** -0.5)
    is_causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask, -math.inf)
    elif is_causal and query.shape[2] > 1:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    return (scores.softmax(-1).to(value.dtype) @ value).transpose(1, 2).contiguous(), None


class AttentionFunctions(collections.abc.MutableMapping):
    """Functions that all share, and those of this object alone."""

    _global_mapping = {}

    def __init__(self, **functions):
        self._local_mapping = functions

    def __getitem__(self, name):
        return self._local_mapping[name] if name in self._local_mapping else self._global_mapping[name]

    def __setitem__(self, name, function):
        self._local_mapping[name] = function

    def __delitem__(self, name):
        del self._local_mapping[name]

    def __iter__(self):
        return iter({**self._global_mapping, **self._local_mapping})

    def __len__(self):
        return len(self._global_mapping.keys() | self._local_mapping.keys())

    def get_interface(self, name, default):
        return super().get(name, default)


ALL_ATTENTION_FUNCTIONS = AttentionFunctions(sdpa=sdpa)


class DynamicLayer:
    is_compileable = False

    def __init__(self):
        self.keys = self.values = None

    def get_seq_length(self):
        return 0 if self.keys is None else self.keys.shape[2]

    def get_mask_sizes(self, queries):
        """How many keys there will be, and the position of the first."""
        return self.get_seq_length() + queries, 0

    def update(self, keys, values):
        self.keys = keys if self.keys is None else torch.cat((self.keys, keys), 2)
        self.values = values if self.values is None else torch.cat((self.values, values), 2)
        return self.keys, self.values


class StaticLayer:
    is_compileable = True

    def __init__(self, room):
        self.room, self.keys, self.cumulative_length = room, None, torch.tensor(0)

    def get_seq_length(self):
        return 0 if self.keys is None else self.cumulative_length

    def get_mask_sizes(self, queries):
        return self.room, 0

    def update(self, keys, values):
        if self.keys is None:
            self.keys = keys.new_zeros(*keys.shape[:2], self.room, keys.shape[3])
            self.values = torch.zeros_like(self.keys)
            self.cumulative_length = self.cumulative_length.to(keys.device)
        positions = torch.arange(keys.shape[2], device=keys.device) + self.cumulative_length
        self.cumulative_length.add_(keys.shape[2])
        self.keys.index_copy_(2, positions, keys)
        self.values.index_copy_(2, positions, values)
        return self.keys, self.values


class DynamicSlidingWindowLayer(DynamicLayer):
    """Keeps what the window of the next query has in addition to the query itself."""

    def __init__(self, window):
        super().__init__()
        self.window, self.seen = window, 0

    def get_seq_length(self):
        return self.seen

    def get_mask_sizes(self, queries):
        return min(self.seen, self.window - 1) + queries, max(self.seen - self.window + 1, 0)

    def update(self, keys, values):
        self.seen += keys.shape[2]
        every = super().update(keys, values)
        self.keys, self.values = (one[:, :, 1 - self.window:] for one in every)
        return every


class StaticSlidingWindowLayer(StaticLayer):
    """The last keys in their order; before there are that many, those from position 0 on."""

    def __init__(self, room):
        super().__init__(room)
        self.seen = 0

    def get_mask_sizes(self, queries):
        first = max(self.seen - self.room + 1, 0)
        if self.seen + queries <= self.room:
            return self.room, first
        return min(self.seen, self.room - 1) + queries, first

    def update(self, keys, values):
        before, count = self.seen, keys.shape[2]
        self.seen += count
        if self.seen <= self.room:
            return super().update(keys, values)
        every = [keys, values]
        if before > 0:
            kept = slice(1, None) if before >= self.room else slice(0, before)
            every = [torch.cat((old[:, :, kept], new), 2) for old, new in zip((self.keys, self.values), every)]
        else:
            super().update(keys[:, :, :self.room], values[:, :, :self.room])  # makes room
        for old, new in zip((self.keys, self.values), every):
            old.copy_(new[:, :, -self.room:])
        self.cumulative_length.fill_(self.seen)
        return (self.keys, self.values) if count == 1 and before >= self.room else every


class Cache:
    def __init__(self, layers):
        self.layers = layers

    @property
    def is_compileable(self):
        return all(one.is_compileable for one in self.layers)

    def get_seq_length(self):
        return self.layers[0].get_seq_length()


class DynamicCache(Cache):
    def __init__(self, config):
        super().__init__([DynamicSlidingWindowLayer(config.sliding_window) if windowed(config, index) else DynamicLayer()
                          for index in range(config.num_hidden_layers)])


class StaticCache(Cache):
    def __init__(self, config, max_cache_len):
        super().__init__([StaticSlidingWindowLayer(min(config.sliding_window, max_cache_len)) if windowed(config, index)
                          else StaticLayer(max_cache_len) for index in range(config.num_hidden_layers)])


def windowed(config, index):
    return config.sliding_window is not None and index not in config.full_layers


def sizes_of(cache, queries, names):
    """Of the first layer whose class is one of these, or of the first one."""
    layers = [one for one in cache.layers if type(one).__name__ in names] or cache.layers
    return layers[0].get_mask_sizes(queries)


def sdpa_mask(seen, at, window=None):
    """True where positions see others that are not behind them, and less than a window away."""
    return seen <= at if window is None else (seen <= at) & (seen > at - window)


ALL_MASK_ATTENTION_FUNCTIONS = AttentionFunctions(sdpa=sdpa_mask)


def create_causal_mask(config, inputs_embeds, attention_mask, past_key_values, position_ids=None, window=None):
    """True where a query sees a key; None where is_causal says it."""
    queries = inputs_embeds.shape[1]
    past = 0 if past_key_values is None else past_key_values.get_seq_length()
    keys = queries if past_key_values is None else sizes_of(past_key_values, queries, ("StaticLayer", "DynamicLayer"))[0]
    static = past_key_values is not None and past_key_values.is_compileable
    text = None  # of each token, where positions say so: several lie behind one another then
    if attention_mask is None and past_key_values is None and position_ids is not None:
        text = (torch.diff(position_ids, prepend=position_ids[:, :1] - 1, dim=-1) != 1).cumsum(-1)
        if not config.captured and not text.any():
            text = None
    function = ALL_MASK_ATTENTION_FUNCTIONS[config._attn_implementation]
    if (function is sdpa_mask and attention_mask is None and window is None and not static and text is None
            and not config.captured and not torch.jit.is_tracing() and (queries == 1 or keys == queries)):
        return None
    device = inputs_embeds.device
    seen, at = torch.arange(keys, device=device)[None, :], torch.arange(queries, device=device)[:, None] + past
    mask = function(seen, at, window)[None, None].repeat(inputs_embeds.shape[0], 1, 1, 1)
    if text is not None:
        mask = mask & (text[:, None, :, None] == text[:, None, None, :])
    if attention_mask is not None:
        mask = mask & nn.functional.pad(attention_mask.bool(), (0, keys - attention_mask.shape[1]))[:, None, None]
    return mask


def create_sliding_window_causal_mask(config, inputs_embeds, attention_mask, past_key_values, position_ids=None):
    """True where a query sees a key that is less than a window away; None where is_causal says it."""
    queries, past, (keys, first) = inputs_embeds.shape[1], 0, (inputs_embeds.shape[1], 0)
    if past_key_values is not None:
        past = past_key_values.get_seq_length()
        keys, first = sizes_of(past_key_values, queries, ("StaticSlidingWindowLayer", "DynamicSlidingWindowLayer"))
    static = past_key_values is not None and past_key_values.is_compileable
    if attention_mask is None and not static and (queries == 1 or keys == queries) and keys < config.sliding_window:
        return None
    device = inputs_embeds.device
    seen, at = torch.arange(keys, device=device)[None, :] + first, torch.arange(queries, device=device)[:, None] + past
    mask = ALL_MASK_ATTENTION_FUNCTIONS[config._attn_implementation](seen, at, config.sliding_window)
    return mask[None, None].repeat(inputs_embeds.shape[0], 1, 1, 1)


def create_bidirectional_mask(config, inputs_embeds, attention_mask, encoder_hidden_states=None, or_mask_function=None):
    """None where every key is seen, but for what is captured."""
    batch, tokens = inputs_embeds.shape[:2]
    mask = torch.ones(1, 1, 1, tokens, dtype=torch.bool, device=inputs_embeds.device)
    if attention_mask is not None:
        mask = attention_mask.bool()[:, None, None]
    if or_mask_function is not None:
        mask = mask & or_mask_function(tokens)
    return None if mask.all() and not config.captured else mask.expand(batch, 1, tokens, tokens)


class Attention(nn.Module):
    def __init__(self, config, index):
        super().__init__()
        self.config, self.layer_idx, self.head_dim, self.scaling = config, index, config.head_dim, config.scaling
        self.num_key_value_groups, self.is_causal = HEADS // KV_HEADS, config.is_causal
        self.sliding_window = config.sliding_window if windowed(config, index) else None
        widths = [heads * config.head_dim for heads in (HEADS, KV_HEADS, KV_HEADS)]
        if config.merged:
            self.widths, self.qkv_proj = widths, nn.Linear(WIDTH, sum(widths), bias=config.bias)
        else:
            self.q_proj, self.k_proj, self.v_proj = (nn.Linear(WIDTH, one, bias=config.bias) for one in widths)
        self.o_proj = nn.Linear(HEADS * config.head_dim, WIDTH, bias=False)
        self.q_norm, self.k_norm = (RMSNorm(config.head_dim) if config.qk_norm else nn.Identity() for _ in range(2))

    def projected(self, hidden_states):
        if self.config.merged:
            return self.qkv_proj(hidden_states).split(self.widths, -1)
        return self.q_proj(hidden_states), self.k_proj(hidden_states), self.v_proj(hidden_states)

    def forward(self, hidden_states, position_embeddings, attention_mask, past_key_values=None, **kwargs):
        shape = (*hidden_states.shape[:-1], -1, self.head_dim)
        query, key, value = (one.view(shape) for one in self.projected(hidden_states))
        query, key, value = (one.transpose(1, 2) for one in (self.q_norm(query), self.k_norm(key), value))
        cos, sin = position_embeddings
        query, key = apply_rotary_pos_emb(query, key, cos, sin)
        if past_key_values is not None:
            key, value = past_key_values.layers[self.layer_idx].update(key, value)
        function = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, None)
        output, _ = function(self, query, key, value, attention_mask, dropout=0.0, scaling=self.scaling,
                             sliding_window=self.sliding_window, **kwargs)
        return self.o_proj(output.reshape(*hidden_states.shape[:-1], -1))


class DecoderLayer(nn.Module):
    def __init__(self, config, index):
        super().__init__()
        self.self_attn = Attention(config, index)
        self.mlp = (MergedMLP if config.merged else MLP)(WIDTH, INNER, nn.SiLU())
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(WIDTH), RMSNorm(WIDTH)

    def forward(self, hidden_states, **kwargs):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states, **kwargs)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        return residual + hidden_states


class DropoutLayer(DecoderLayer):
    """As Phi-3 has it."""

    def __init__(self, config, index):
        super().__init__(config, index)
        self.resid_attn_dropout = self.resid_mlp_dropout = nn.Dropout(0.0)

    def forward(self, hidden_states, **kwargs):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states, **kwargs)
        hidden_states = residual + self.resid_attn_dropout(hidden_states)  # of the sum's terms one is a call
        residual = hidden_states
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        return residual + self.resid_mlp_dropout(hidden_states)


class NormedLayer(DecoderLayer):
    """As Gemma 2 has it: norms of what attention and the feed-forward give, too."""

    def __init__(self, config, index):
        super().__init__(config, index)
        self.mlp.act_fn = nn.GELU(approximate="tanh")
        self.input_layernorm, self.post_attention_layernorm = GemmaRMSNorm(WIDTH), GemmaRMSNorm(WIDTH)
        self.pre_feedforward_layernorm, self.post_feedforward_layernorm = GemmaRMSNorm(WIDTH), GemmaRMSNorm(WIDTH)

    def forward(self, hidden_states, **kwargs):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states, **kwargs)
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.pre_feedforward_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        hidden_states = self.post_feedforward_layernorm(hidden_states)
        hidden_states = residual + hidden_states
        return hidden_states


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.embed_tokens = config, nn.Embedding(100, WIDTH)
        layer = DropoutLayer if config.merged else NormedLayer if config.post_norms else DecoderLayer
        self.layers = nn.ModuleList([layer(config, index) for index in range(config.num_hidden_layers)])
        self.norm, self.rotary_emb = RMSNorm(WIDTH), RotaryEmbedding(config.head_dim)

    def forward(self, input_ids, attention_mask=None, past_key_values=None, **kwargs):
        hidden_states = self.embed_tokens(input_ids)
        past = past_key_values.get_seq_length() if past_key_values is not None else 0
        position_ids = (torch.arange(input_ids.shape[1], device=input_ids.device) + past)[None]
        mask = self.mask_of(hidden_states, attention_mask, past_key_values, position_ids)
        position_embeddings = self.rotary_emb(hidden_states, position_ids)
        near = None if self.config.sliding_window is None else create_sliding_window_causal_mask(
            config=self.config, inputs_embeds=hidden_states, attention_mask=attention_mask, past_key_values=past_key_values,
            position_ids=position_ids)
        for layer in self.layers:
            hidden_states = layer(hidden_states, position_embeddings=position_embeddings,
                                  attention_mask=mask if layer.self_attn.sliding_window is None else near,
                                  past_key_values=past_key_values, position_ids=position_ids, **kwargs)
        return self.norm(hidden_states)

    def mask_of(self, hidden_states, attention_mask, past_key_values, position_ids):
        if not self.config.is_causal:
            return create_bidirectional_mask(config=self.config, inputs_embeds=hidden_states, attention_mask=attention_mask,
                                             **self.config.mask)
        return create_causal_mask(config=self.config, inputs_embeds=hidden_states, attention_mask=attention_mask,
                                  past_key_values=past_key_values, position_ids=position_ids, **self.config.mask)


class PositionedModel(Model):
    """Takes positions, and makes them and its mask in its forward, as Llama has it."""

    def forward(self, input_ids, attention_mask=None, position_ids=None, past_key_values=None, use_cache=None, **kwargs):
        hidden_states = self.embed_tokens(input_ids)
        if position_ids is None:
            past_seen_tokens = past_key_values.get_seq_length() if past_key_values is not None else 0
            position_ids = torch.arange(hidden_states.shape[1], device=hidden_states.device) + past_seen_tokens
            position_ids = position_ids.unsqueeze(0)
        mask = create_causal_mask(config=self.config, inputs_embeds=hidden_states, attention_mask=attention_mask,
                                  past_key_values=past_key_values, position_ids=position_ids)
        position_embeddings = self.rotary_emb(hidden_states, position_ids)
        for layer in self.layers:
            hidden_states = layer(hidden_states, position_embeddings=position_embeddings, attention_mask=mask,
                                  past_key_values=past_key_values, position_ids=position_ids, **kwargs)
        return self.norm(hidden_states)


class CausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.model = config, (PositionedModel if config.positioned else Model)(config)
        self.lm_head = nn.Linear(WIDTH, 100, bias=False)

    def forward(self, input_ids, logits_to_keep=0, use_cache=None, **kwargs):
        hidden_states = self.model(input_ids, **kwargs)
        return types.SimpleNamespace(logits=self.lm_head(hidden_states[:, -logits_to_keep:]))


def config(head_dim=64, **options):
    """bias: of queries, keys and values, as Qwen2 has; merged: they come from one product, gate and up from another, as in Phi-3;
    sliding_window: of all layers, as in Mistral, but for full_layers; captured: masks are made where they say nothing; positioned: see
    PositionedModel; qk_norm: as Qwen3 has it; post_norms: as Gemma 2 does.
    """
    return types.SimpleNamespace(**{"num_hidden_layers": 2, "_attn_implementation": "sdpa", "is_causal": True, "mask": {},
                                    "captured": False, "positioned": False, "sliding_window": None, "full_layers": (), "bias": False, "merged": False, "qk_norm": False, "post_norms": False,
                                    "head_dim": head_dim, "scaling": head_dim ** -0.5, **options})


def model(**options):
    """In bfloat16, always with the same weights."""
    torch.manual_seed(1)
    return CausalLM(config(**options)).bfloat16().eval()
