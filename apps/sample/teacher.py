#!/usr/bin/env python3
"""Fine-tunes a pretrained sentence encoder on labelled sentences. The sample is trained on this teacher's answers for
other sentences (training_data.py).

    python3 teacher.py --model all-MiniLM-L6-v2 --train data/sentences.jsonl --valid data/valid_sentences.jsonl \\
      --out teacher

The program needs PyTorch and transformers. --model names a folder that transformers reads, and --out the folder for the
fine-tuned model.
"""

import argparse
import json
import random
import sys
import time

import torch
from torch.nn import functional as F
from transformers import AutoModelForSequenceClassification, AutoTokenizer

LABELS = ("negative", "positive")
MOST_TOKENS = 64
BATCH = 32
EPOCHS = 0.5  # Half of the file suffices, because training_data.py writes each sentence twice.
RATE = 5e-5
WARMUP = 0.06
SEED = 1
STEPS_BETWEEN_LINES = 500


def read(path, tokenizer):
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    ids = tokenizer([row["text"] for row in rows], truncation=True, max_length=MOST_TOKENS)["input_ids"]
    return list(zip(ids, (row["label"] for row in rows)))


def batches(rows, order):
    """Yields batches (tokens, mask, labels) of texts of similar length."""
    found = []
    for start in range(0, len(order), 50 * BATCH):
        part = sorted(order[start:start + 50 * BATCH], key=lambda row: len(rows[row][0]))
        found += [part[first:first + BATCH] for first in range(0, len(part), BATCH)]
    random.shuffle(found)
    for batch in found:
        longest = max(len(rows[row][0]) for row in batch)
        tokens = [rows[row][0] + [0] * (longest - len(rows[row][0])) for row in batch]
        mask = [[int(column < len(rows[row][0])) for column in range(longest)] for row in batch]
        yield torch.tensor(tokens), torch.tensor(mask), torch.tensor([rows[row][1] for row in batch])


@torch.no_grad()
def accuracy(model, rows):
    model.eval()
    right = sum((model(input_ids=tokens, attention_mask=mask).logits.argmax(1) == labels).sum().item()
                for tokens, mask, labels in batches(rows, range(len(rows))))
    model.train()
    return right / len(rows)


def train(model, rows, valid):
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    steps, started = int(EPOCHS * len(rows) / BATCH), time.monotonic()
    model.train()
    order = random.sample(range(len(rows)), steps * BATCH)
    for step, (tokens, mask, labels) in enumerate(batches(rows, order)):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, step / (WARMUP * steps)) * (1 - step / steps)
        loss = F.cross_entropy(model(input_ids=tokens, attention_mask=mask).logits, labels)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % STEPS_BETWEEN_LINES == 0:
            print(f"{step + 1}/{steps} steps, {time.monotonic() - started:.0f} s, validation accuracy "
                  f"{accuracy(model, valid):.4f}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, metavar in (("model", "FOLDER"), ("train", "FILE"), ("valid", "FILE"), ("out", "DIR")):
        parser.add_argument("--" + name, required=True, metavar=metavar)
    args = parser.parse_args()
    torch.manual_seed(SEED)
    random.seed(SEED)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSequenceClassification.from_pretrained(
        args.model, num_labels=len(LABELS), id2label=dict(enumerate(LABELS)),
        label2id={label: number for number, label in enumerate(LABELS)})
    valid = read(args.valid, tokenizer)
    train(model, read(args.train, tokenizer), valid)
    print(f"validation accuracy {accuracy(model, valid):.4f}")
    model.save_pretrained(args.out)
    tokenizer.save_pretrained(args.out)


if __name__ == "__main__":
    main()
