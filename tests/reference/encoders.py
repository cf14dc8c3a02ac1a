"""Makes the small checkpoints and float64 outputs of ModernBERT, MPNet, ELECTRA, ALBERT, RoFormer, NomicBERT and
GTE in tests/data/golden.

    python3 encoders.py FOLDER

Needs torch and transformers 5.23 or newer. The checkpoints are random models written by save_pretrained, and the models
compute the outputs in double precision. hugging_face.py compares more models if the packages are installed.
"""

import copy
import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import numpy as np
import torch
import transformers

transformers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity_error()

VOCABULARY, POSITIONS = 13, 14
# For these classes save_pretrained writes the names of the models' original code, which differ from those of the
# classes in transformers.
OTHER_NAMES = ("NomicBertForMaskedLM", "GteForMaskedLM")
LEFT_OUT = ("transformers_version", "dtype", "initializer_range")


def random_model(name, config, seed):
    torch.manual_seed(seed)
    model = getattr(transformers, name)(config)
    with torch.no_grad():  # The initial zeros and ones of biases and norms would hide swapped tensors.
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += 0.2 * torch.randn_like(parameter)
    return model.eval()


def runs_of(config, seed, types, positions):
    """Returns ids by run: of the largest length, shorter, a pair, and with padding after the text."""
    random = np.random.RandomState(seed)
    tokens = [token for token in range(VOCABULARY) if token != config.pad_token_id]
    runs = {f"n{positions}": random.choice(tokens, (1, positions)), "n6": random.choice(tokens, (2, 6))}
    if types:
        runs["pair"] = random.choice(tokens, (2, 9))
    runs["padded"] = random.choice(tokens, (2, 10))
    runs["padded"][0, 7:] = runs["padded"][1, 4:] = config.pad_token_id
    return runs


def write_case(root, name, model_name, config, seed, positions=POSITIONS, labels=None):
    family, what = name.split("/")
    dialect = {"modernbert": "modernbert", "nomic_bert": "rotary-bert", "gte": "rotary-bert"}.get(family, "hugging-face")
    case = what if family == dialect else f"{family}_{what}"
    if labels:
        config.num_labels = labels
    model = random_model(model_name, config, seed)
    folder = root / dialect / case
    model.save_pretrained(folder)
    (folder / "model.safetensors").rename(folder / "checkpoint.safetensors")
    (folder / "checkpoint.safetensors").chmod(0o644)
    if model_name in OTHER_NAMES:
        torch.save(model.state_dict(), folder / "checkpoint.pt")
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").unlink()
    settings = {key: value for key, value in settings.items() if key not in LEFT_OUT and "dropout" not in key}
    exact = copy.deepcopy(model).double()
    base = getattr(exact, exact.base_model_prefix)
    types = (getattr(config, "type_vocab_size", None) or 0) > 1
    arrays = {}
    for run, ids in runs_of(config, seed, types, positions).items():
        given = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(ids != config.pad_token_id).long()}
        arrays[f"{run}.tokens"] = ids.astype(np.int64)
        if run == "pair":
            arrays["pair.types"] = np.zeros(ids.shape, np.uint8)
            arrays["pair.types"][:, 4:] = 1
            given["token_type_ids"] = torch.tensor(arrays["pair.types"]).long()
        with torch.no_grad():
            outputs, rows = exact(**given), base(**given).last_hidden_state
        if "start_logits" in outputs:
            logits = torch.stack([outputs.start_logits, outputs.end_logits], dim=-1)
        else:
            logits = outputs.logits[..., None] if model_name == "ElectraForPreTraining" else outputs.logits
        pooled = logits.dim() == 2
        if run == "padded" and not pooled:
            del arrays["padded.tokens"]  # The rows of the padding differ.
            continue
        if run != "padded":
            arrays[f"{run}.features.f64"] = rows.numpy()
        arrays[f"{run}.logits.f64"] = logits.numpy()
    np.savez(folder / "io.npz", **arrays)
    meta = {"family": dialect, "case": case, "config": settings,
            "what": f"{model_name} of transformers {transformers.__version__}: {family}, {what.replace('_', ' ')}"}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


def main():
    root = pathlib.Path(sys.argv[1])
    bert = dict(vocab_size=VOCABULARY, max_position_embeddings=POSITIONS, hidden_size=8, num_hidden_layers=2,
                num_attention_heads=2, intermediate_size=12, initializer_range=0.4, pad_token_id=0)
    # This length also reaches MPNet's buckets for large distances.
    mpnet = dict(bert, max_position_embeddings=152, pad_token_id=1)
    write_case(root, "mpnet/masked_lm", "MPNetForMaskedLM", transformers.MPNetConfig(**mpnet), 70, 150)
    write_case(root, "mpnet/labels", "MPNetForSequenceClassification", transformers.MPNetConfig(**mpnet), 71, 20, 3)
    electra = dict(bert, embedding_size=5)
    write_case(root, "electra/generator", "ElectraForMaskedLM", transformers.ElectraConfig(**electra), 72)
    write_case(root, "electra/discriminator", "ElectraForPreTraining", transformers.ElectraConfig(**electra), 73)
    write_case(root, "electra/labels", "ElectraForSequenceClassification", transformers.ElectraConfig(**electra), 74,
               labels=3)
    albert = dict(electra, num_hidden_layers=4, num_hidden_groups=2, inner_group_num=2, hidden_act="gelu_new")
    write_case(root, "albert/masked_lm", "AlbertForMaskedLM", transformers.AlbertConfig(**albert), 75)
    write_case(root, "albert/answers", "AlbertForQuestionAnswering", transformers.AlbertConfig(**albert), 76, labels=2)
    roformer = dict(electra, hidden_act="relu")
    write_case(root, "roformer/masked_lm", "RoFormerForMaskedLM", transformers.RoFormerConfig(**roformer), 85)
    write_case(root, "roformer/labels", "RoFormerForSequenceClassification", transformers.RoFormerConfig(**roformer),
               86, labels=3)
    modern = dict(bert, num_hidden_layers=4, cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3,
                  local_attention=6)
    write_case(root, "modernbert/masked_lm", "ModernBertForMaskedLM", transformers.ModernBertConfig(**modern), 77)
    write_case(root, "modernbert/labels", "ModernBertForSequenceClassification",
               transformers.ModernBertConfig(**modern, classifier_pooling="mean", norm_bias=True, mlp_bias=True,
                                             attention_bias=True), 78, labels=3)
    write_case(root, "modernbert/tokens", "ModernBertForTokenClassification", transformers.ModernBertConfig(**modern),
               79, labels=3)
    write_case(root, "nomic_bert/masked_lm", "NomicBertForMaskedLM", transformers.NomicBertConfig(**bert), 80)
    write_case(root, "nomic_bert/labels", "NomicBertForSequenceClassification", transformers.NomicBertConfig(**bert),
               81, labels=3)
    write_case(root, "gte/masked_lm", "GteForMaskedLM", transformers.GteConfig(**dict(bert, type_vocab_size=2)), 82)
    write_case(root, "gte/tokens", "GteForTokenClassification", transformers.GteConfig(**bert, type_vocab_size=0), 83,
               labels=3)


if __name__ == "__main__":
    main()
