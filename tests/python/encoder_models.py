# SPDX-License-Identifier: Apache-2.0
"""Small BERT and DistilBERT, module by module as Hugging Face's version 5 writes them."""
import torch
from cached_models import ALL_ATTENTION_FUNCTIONS, config, create_bidirectional_mask
from torch import nn

HEADS, HEAD, INNER, WORDS, PLACES = 2, 64, 192, 100, 32
WIDTH = HEADS * HEAD


class Embeddings(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        self.word_embeddings = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.position_embeddings = nn.Embedding(PLACES, WIDTH)
        if kinds:
            self.token_type_embeddings = nn.Embedding(kinds, WIDTH)
        self.LayerNorm, self.dropout = nn.LayerNorm(WIDTH, eps=1e-12), nn.Dropout(0.1)

    def forward(self, input_ids):
        embeddings = self.word_embeddings(input_ids)
        if hasattr(self, "token_type_embeddings"):
            embeddings = embeddings + self.token_type_embeddings(torch.zeros_like(input_ids))
        embeddings = embeddings + self.position_embeddings(torch.arange(input_ids.shape[1], device=input_ids.device)[None])
        embeddings = self.LayerNorm(embeddings)
        return self.dropout(embeddings)


class SelfAttention(nn.Module):
    """Of three products, whose names differ, and in DistilBERT a fourth."""

    def __init__(self, config, names=("query", "key", "value")):
        super().__init__()
        self.config, self.is_causal, self.names, self.attention_head_size = config, False, names, HEAD
        for name in names:
            setattr(self, name, nn.Linear(WIDTH, WIDTH))

    def forward(self, hidden_states, attention_mask=None):
        shape = (*hidden_states.shape[:-1], -1, self.attention_head_size)
        query, key, value = (getattr(self, name)(hidden_states).view(shape).transpose(1, 2) for name in self.names[:3])
        function = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, None)
        output, _ = function(self, query, key, value, attention_mask, dropout=0.0, scaling=HEAD ** -0.5)
        output = output.reshape(*hidden_states.shape[:-1], -1).contiguous()
        return getattr(self, self.names[3])(output) if len(self.names) > 3 else output


class Output(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.dense, self.LayerNorm, self.dropout = nn.Linear(inner, WIDTH), nn.LayerNorm(WIDTH, eps=1e-12), nn.Dropout(0.1)

    def forward(self, hidden_states, input_tensor):
        hidden_states = self.dense(hidden_states)
        hidden_states = self.dropout(hidden_states)
        hidden_states = self.LayerNorm(hidden_states + input_tensor)
        return hidden_states


class Intermediate(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.dense, self.intermediate_act_fn = nn.Linear(WIDTH, INNER), activation

    def forward(self, hidden_states):
        hidden_states = self.dense(hidden_states)
        hidden_states = self.intermediate_act_fn(hidden_states)
        return hidden_states


class BertAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self, self.output = SelfAttention(config), Output(WIDTH)

    def forward(self, hidden_states, attention_mask=None):
        return self.output(self.self(hidden_states, attention_mask), hidden_states)


class BertLayer(nn.Module):
    def __init__(self, config, activation):
        super().__init__()
        self.attention, self.intermediate, self.output = BertAttention(config), Intermediate(activation), Output(INNER)

    def forward(self, hidden_states, attention_mask=None):
        attention_output = self.attention(hidden_states, attention_mask)
        return self.output(self.intermediate(attention_output), attention_output)


class FFN(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.dropout, self.lin1, self.lin2 = nn.Dropout(0.1), nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.activation = activation

    def forward(self, input):
        x = self.lin1(input)
        x = self.activation(x)
        x = self.lin2(x)
        return self.dropout(x)


class DistilLayer(nn.Module):
    def __init__(self, config, activation):
        super().__init__()
        self.attention = SelfAttention(config, ("q_lin", "k_lin", "v_lin", "out_lin"))
        self.sa_layer_norm, self.ffn = nn.LayerNorm(WIDTH, eps=1e-12), FFN(activation)
        self.output_layer_norm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, hidden_states, attention_mask=None):
        attention_output = self.attention(hidden_states, attention_mask)
        attention_output = self.sa_layer_norm(attention_output + hidden_states)
        ffn_output = self.ffn(attention_output)
        return self.output_layer_norm(ffn_output + attention_output)


class Encoder(nn.Module):
    def __init__(self, layer, kinds, activation):
        super().__init__()
        self.config = config(HEAD, is_causal=False)
        self.embeddings = Embeddings(kinds)
        self.layer = nn.ModuleList(layer(self.config, activation) for _ in range(self.config.num_hidden_layers))

    def forward(self, input_ids, attention_mask=None):
        hidden_states = self.embeddings(input_ids)
        mask = create_bidirectional_mask(config=self.config, inputs_embeds=hidden_states, attention_mask=attention_mask)
        for layer in self.layer:
            hidden_states = layer(hidden_states, mask)
        return hidden_states


def made(layer, kinds, activation):
    """In bfloat16, always with the same weights."""
    torch.manual_seed(1)
    return Encoder(layer, kinds, nn.GELU() if activation is None else activation).bfloat16().eval()


def bert(activation=None):
    return made(BertLayer, 2, activation)


def distilbert(activation=None):
    return made(DistilLayer, 0, activation)
