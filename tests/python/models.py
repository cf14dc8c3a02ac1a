"""Makes small random BERT models in the format of Hugging Face. It needs only NumPy.

    python3 tests/python/models.py embedding MODEL.lnfr    # writes the model of one of these functions
"""
import json
import pathlib
import sys
import tempfile

import numpy as np

from linformer_cpp.conversion import convert, write_safetensors

WORDS = ("[PAD] [UNK] [CLS] [SEP] [MASK] the a of and in is was not no film train city river sailor whale house music "
         "good bad long short blue green old new runs sleeps sings Berlin Ada Oslo who where what when . , ? !").split()
LENGTH = 48


def config(architecture, **more):
    return {"model_type": "bert", "architectures": [architecture], "vocab_size": len(WORDS), "hidden_size": 32,
            "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "hidden_act": "gelu",
            "max_position_embeddings": LENGTH, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0, **more}


class Tensors(dict):
    def __init__(self, seed):
        super().__init__()
        self.random = np.random.default_rng(seed)

    def linear(self, name, outputs, inputs):
        self[name + ".weight"] = self.random.normal(0, 0.3, (outputs, inputs)).astype(np.float32)
        self[name + ".bias"] = self.random.normal(0, 0.1, outputs).astype(np.float32)

    def norm(self, name, width=32):
        self[name + ".weight"] = self.random.normal(1, 0.1, width).astype(np.float32)
        self[name + ".bias"] = self.random.normal(0, 0.1, width).astype(np.float32)

    def table(self, name, rows):
        self[name + ".weight"] = self.random.normal(0, 0.5, (rows, 32)).astype(np.float32)


def encoder(seed, prefix="bert.", pooler=True):
    tensors = Tensors(seed)
    for name, rows in (("word", len(WORDS)), ("position", LENGTH), ("token_type", 2)):
        tensors.table(f"{prefix}embeddings.{name}_embeddings", rows)
    tensors.norm(prefix + "embeddings.LayerNorm")
    for layer in range(2):
        at = f"{prefix}encoder.layer.{layer}."
        for name in ("query", "key", "value"):
            tensors.linear(f"{at}attention.self.{name}", 32, 32)
        tensors.linear(at + "attention.output.dense", 32, 32)
        tensors.norm(at + "attention.output.LayerNorm")
        tensors.linear(at + "intermediate.dense", 64, 32)
        tensors.linear(at + "output.dense", 32, 64)
        tensors.norm(at + "output.LayerNorm")
    if pooler:
        tensors.linear(prefix + "pooler.dense", 32, 32)
    return tensors


def write(folder, settings, tensors, sentence_transformers=False):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer",
                                                              "do_lower_case": False}))
    write_safetensors(folder / "model.safetensors", tensors)
    if sentence_transformers:
        modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                   {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
        (folder / "modules.json").write_text(json.dumps(modules))
        (folder / "config_sentence_transformers.json").write_text(json.dumps(
            {"prompts": {"query": "who is ", "document": ""}, "default_prompt_name": None}))
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling/config.json").write_text(json.dumps(
            {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}))
    return folder


def embedding(folder):
    return write(folder, config("BertModel"), encoder(1, ""), sentence_transformers=True)


def classifier(folder):
    tensors = encoder(2)
    tensors.linear("classifier", 3, 32)
    names = ["bad", "fair", "good"]
    return write(folder, config("BertForSequenceClassification", id2label=dict(enumerate(names)),
                                label2id={name: i for i, name in enumerate(names)}), tensors)


def reranker(folder):
    tensors = encoder(3)
    tensors.linear("classifier", 1, 32)
    return write(folder, config("BertForSequenceClassification", id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0}),
                 tensors)


def tagger(folder):
    tensors = encoder(4, pooler=False)
    tensors.linear("classifier", 3, 32)
    names = ["O", "B-PER", "I-PER"]
    return write(folder, config("BertForTokenClassification", id2label=dict(enumerate(names)),
                                label2id={name: i for i, name in enumerate(names)}), tensors)


def answerer(folder):
    tensors = encoder(5, pooler=False)
    tensors.linear("qa_outputs", 2, 32)
    return write(folder, config("BertForQuestionAnswering"), tensors)


def masked(folder):
    tensors = encoder(6, pooler=False)
    tensors.linear("cls.predictions.transform.dense", 32, 32)
    tensors.norm("cls.predictions.transform.LayerNorm")
    tensors["cls.predictions.bias"] = np.zeros(len(WORDS), np.float32)
    return write(folder, config("BertForMaskedLM"), tensors)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        convert(globals()[sys.argv[1]](pathlib.Path(scratch, sys.argv[1])), sys.argv[2])


if __name__ == "__main__":
    main()
