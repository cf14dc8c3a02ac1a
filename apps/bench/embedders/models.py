"""Reads the pooling of a model folder of sentence-transformers, and makes models with random weights."""
import json
import os

SHAPES = {"bge-small": {"hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 12,
                        "intermediate_size": 1536},
          "bge-base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                       "intermediate_size": 3072}}


def random_model(shape, tokenizer, folder):
    """Writes a model of sentence-transformers with random weights and returns its folder.

    It pools the first token, and `tokenizer` is the folder of a model whose tokenizer it uses.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer
    from transformers import AutoTokenizer, BertConfig, BertModel
    torch.manual_seed(1)
    words = AutoTokenizer.from_pretrained(tokenizer)
    BertModel(BertConfig(vocab_size=len(words), **SHAPES[shape])).save_pretrained(folder + "-weights")
    words.save_pretrained(folder + "-weights")
    encoder = Transformer(folder + "-weights", max_seq_length=512)
    SentenceTransformer(modules=[encoder, Pooling(SHAPES[shape]["hidden_size"], pooling_mode="cls"), Normalize()],
                        device="cpu").save_pretrained(folder)
    return folder


def pooling_of(model):
    with open(os.path.join(model, "1_Pooling", "config.json"), encoding="utf-8") as file:
        pooling = json.load(file)
    width = pooling.get("word_embedding_dimension") or pooling["embedding_dimension"]  # The name differs by version.
    is_first_token = pooling.get("pooling_mode_cls_token") or pooling.get("pooling_mode") == "cls"
    return ("cls" if is_first_token else "mean"), width
