"""Makes small models of each family with random weights, a vocabulary, and texts."""
import json
import os
import pathlib
import random
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "apps" / "research"))

import torch  # noqa: E402
import transformers  # noqa: E402

WORDS = """the a small large old new quiet river house garden road train letter winter summer morning evening bread
light stone window door green blue red white film story actor music slow quick good bad fine dull bright dark warm cold
walks runs reads writes sings waits falls opens closes finds keeps loses and or but with without over under near far
never always again soon late early one two three many few man woman child friend town city hill sea boat bridge tree
leaf bird song book page word name day night hour year rain snow wind sun moon star fire water""".split()
SPECIAL = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"]
SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48,
         "vocab_size": len(SPECIAL) + len(WORDS), "max_position_embeddings": 64}
FAMILIES = ["bert", "roberta", "distilbert", "albert", "electra", "mpnet", "roformer", "modernbert", "nomic_bert"]


def make_config(family):
    sizes = dict(SIZES, pad_token_id=1, cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3)
    if family in ("roberta", "mpnet"):
        sizes["max_position_embeddings"] += 2  # The first position is the id of the padding plus 1.
    if family == "electra" or family == "albert":
        sizes["embedding_size"] = 8
    if family == "distilbert":
        sizes["hidden_dim"] = sizes["intermediate_size"]
    if family == "modernbert":
        sizes.update(global_attn_every_n_layers=1, local_attention=16)
    return transformers.AutoConfig.for_model(family, **sizes)


def save_tokenizer(folder, length=64):
    (folder / "vocab.txt").write_text("\n".join(SPECIAL + WORDS) + "\n", encoding="utf-8")
    tokenizer = transformers.BertTokenizer(vocab=str(folder / "vocab.txt"), model_max_length=length)
    tokenizer.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(SPECIAL + WORDS) + "\n", encoding="utf-8")


def make_model(folder, family="bert", head=None, seed=1, spread=0.4):
    """Writes a model. Its weights are so large that attention isn't uniform. `head` has the names of the classes, or is
    None for a model without a head."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    config = make_config(family)
    if head:
        config.id2label, config.label2id = dict(enumerate(head)), {name: i for i, name in enumerate(head)}
        model = transformers.AutoModelForSequenceClassification.from_config(config)
    else:
        model = transformers.AutoModel.from_config(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" in name:  # RoFormer computes them.
                continue
            if parameter.dim() == 2:
                parameter.normal_(0, 0.5 if "embeddings" in name else spread)
            elif "bias" in name:
                parameter.normal_(0, 0.1)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return folder


def make_texts(count, seed=3, shortest=3, longest=90):
    chance = random.Random(seed)
    return [" ".join(chance.choice(WORDS) for _ in range(chance.randint(shortest, longest))) for _ in range(count)]


def write_lines(path, texts):
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def programs():
    from linearise import programs
    if not programs.available():
        pytest.skip("the programs linformer and linformer-convert were not found")
    return programs


def environment():
    return dict(os.environ, PYTHONPATH=str(ROOT / "apps" / "research"), PYTHONDONTWRITEBYTECODE="1",
                TOKENIZERS_PARALLELISM="false")
