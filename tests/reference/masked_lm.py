"""Compares `linformer perplexity` and `linformer fill-mask` with transformers.

    python3 tests/reference/masked_lm.py BUILD_FOLDER

Makes a small random BERT, RoBERTa and DistilBERT with a masked-LM head and with tokenizers from ../shared, converts
them, and compares on lines of WikiText the masking (which this script computes as apps/cli/docs/perplexity.md defines
it), both losses and accuracies, and the likeliest tokens of a mask with their probabilities. The exit code is 1 if
something differs. Without torch, transformers or ../shared it prints "skipped".
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
try:
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)
if not (SHARED / "data" / "tokenizers").is_dir():
    print(f"skipped: no {SHARED}/data/tokenizers")
    sys.exit(0)

SEED, RATE, TEXTS, PSEUDO_TEXTS = 11, 0.15, 40, 6
MASK64 = (1 << 64) - 1
SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
transformers.utils.logging.disable_progress_bar()


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK64
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK64
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK64
    return x ^ x >> 31


def unit(x):
    return (x >> 11) / 2**53


def masked(ids, text, special, tokenizer, vocabulary):
    changed, positions = list(ids), []
    for position, token in enumerate(ids):
        if token in special:
            continue
        h = mix(mix(mix(SEED) ^ text) ^ position)
        g = mix(h)
        if unit(h) >= RATE:
            continue
        positions.append(position)
        if unit(g) < 0.8:
            changed[position] = tokenizer.mask_token_id
        elif unit(g) < 0.9:
            drawn = mix(g) % (vocabulary - 1)
            changed[position] = drawn + (drawn >= tokenizer.pad_token_id)
    return changed, positions


class Sum:
    def __init__(self):
        self.loss, self.right, self.tokens = 0.0, 0, 0

    def add(self, model, changed, positions, truth):
        if not positions:
            return
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([changed])).logits[0, positions]
        target = torch.tensor([truth[p] for p in positions])
        self.loss += torch.nn.functional.cross_entropy(logits, target, reduction="sum").item()
        self.right += (logits.argmax(-1) == target).sum().item()
        self.tokens += len(positions)

    def differs(self, name, ours):
        mean = self.loss / self.tokens
        print(f"  {name}: {self.tokens} tokens, loss {mean:.7f} and {ours['loss']:.7f}, "
              f"perplexity {math.exp(mean):.3f}, top-1 {self.right / self.tokens:.4f}")
        return (ours["tokens"] != self.tokens or abs(ours["loss"] - mean) > 1e-5
                or abs(ours["accuracy"] - self.right / self.tokens) > 1e-9)


def compare(build, folder, name, model, tokenizer):
    print(name)
    torch.manual_seed(1)
    source, file = folder / name, folder / f"{name}.lnfr"
    model = model.eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2)  # The probabilities are then far from uniform.
    model.save_pretrained(source)
    tokenizer.save_pretrained(source)
    model = model.double()
    vocabulary = model.config.vocab_size
    run = lambda *command: subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout
    run(build / "apps" / "convert" / "linformer-convert", source, "-o", file, "--tokenizer", source, "--quiet")
    lines = [line.strip() for line in open(SHARED / "data" / "mlm" / "wikitext2_valid.tokens.txt", encoding="utf-8")]
    lines = [line for line in lines if len(line) > 40][:TEXTS]
    (folder / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    program = build / "apps" / "cli" / "linformer"
    ours = json.loads(run(program, "perplexity", file, "-i", folder / "lines.txt", "--seed", SEED, "--mask-rate", RATE,
                          "--dump-masks", folder / "masks.jsonl", "--json"))
    ours["pseudo"] = json.loads(run(program, "perplexity", file, "-i", folder / "lines.txt", "--mode", "pseudo", "--limit",
                                    PSEUDO_TEXTS, "--json"))["pseudo"]
    failed = False
    mlm, pseudo = Sum(), Sum()
    special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
    for text, line in enumerate(open(folder / "masks.jsonl", encoding="utf-8")):
        dumped = json.loads(line)
        ids = tokenizer(lines[text], truncation=True, max_length=tokenizer.model_max_length)["input_ids"]
        changed, positions = masked(ids, text, special, tokenizer, vocabulary)
        if dumped["ids"] != ids or dumped["masked"] != changed or dumped["positions"] != positions:
            print(f"  text {text} is masked otherwise")
            failed = True
        mlm.add(model, changed, positions, ids)
        for position, token in enumerate(ids if text < PSEUDO_TEXTS else []):
            if token not in special:
                pseudo.add(model, ids[:position] + [tokenizer.mask_token_id] + ids[position + 1:], [position], ids)
    failed |= mlm.differs("mlm", ours["mlm"])
    failed |= pseudo.differs("pseudo", ours["pseudo"])

    text = f"The {tokenizer.mask_token} lobster is a large {tokenizer.mask_token} ."
    answer = json.loads(run(program, "fill-mask", file, text, "--json", "--top-k", 10))
    ids = tokenizer(text)["input_ids"]
    with torch.no_grad():
        probabilities = model(input_ids=torch.tensor([ids])).logits[0].softmax(-1)
    for mask in answer["masks"]:
        best = probabilities[mask["position"]].topk(10)
        theirs = list(zip(best.indices.tolist(), best.values.tolist()))
        worst = max(abs(t["probability"] - p) for t, (_, p) in zip(mask["tokens"], theirs))
        names = all(t["token"].strip() == tokenizer.decode([i]).strip() for t, (i, _) in zip(mask["tokens"], theirs))
        same = [t["id"] for t in mask["tokens"]] == [i for i, _ in theirs]
        print(f"  fill-mask at {mask['position']}: {'same' if same else 'other'} ids, probabilities within {worst:.1e}")
        failed |= not same or not names or worst > 1e-5
    return failed


def main():
    build = pathlib.Path(sys.argv[1])
    tokenizers = SHARED / "data" / "tokenizers"
    bert = transformers.BertTokenizerFast(vocab=str(tokenizers / "bert-base-uncased" / "vocab.txt"), model_max_length=62)
    roberta = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tokenizers / "roberta-base" / "tokenizer.json"), model_max_length=62, bos_token="<s>",
        eos_token="</s>", cls_token="<s>", sep_token="</s>", unk_token="<unk>", pad_token="<pad>", mask_token="<mask>")
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sizes = {**SIZES, "max_position_embeddings": 64}
        failed |= compare(build, folder, "bert", transformers.BertForMaskedLM(
            transformers.BertConfig(vocab_size=len(bert), **{**sizes, "max_position_embeddings": 62})), bert)
        failed |= compare(build, folder, "roberta", transformers.RobertaForMaskedLM(
            transformers.RobertaConfig(vocab_size=len(roberta), pad_token_id=roberta.pad_token_id, **sizes)), roberta)
        failed |= compare(build, folder, "distilbert", transformers.DistilBertForMaskedLM(
            transformers.DistilBertConfig(vocab_size=len(bert), dim=64, hidden_dim=96, n_layers=2, n_heads=4,
                                          max_position_embeddings=62)), bert)
    return 1 if failed else 0


sys.exit(main())
