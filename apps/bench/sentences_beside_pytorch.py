"""Embeds sentences with a sentence-transformers model in PyTorch and with `linformer embed`, in turns, in one run.

    python3 apps/bench/sentences_beside_pytorch.py build/release FOLDER_OF_MODEL --count 1000 --threads 2

FOLDER_OF_MODEL is a BERT with mean pooling and normalisation, such as all-MiniLM-L6-v2. PyTorch's time is that of
tokenizing (its fast tokenizer), batches of 32 sorted by length, mean pooling; the model is loaded before. Ours is the
whole process: start, load, tokenize, embed, write. The sentences are made up, of 3 to 60 words.
"""
import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers

WORDS = ("the a one our that baker driver neighbour teacher committee repaired forgot described sold painted wooden "
         "boat second chapter bicycle unusual clock quickly never before after rain and while because river station "
         "morning letters found carried answered behind old small bright garden window").split()


def sentences(count):
    chance = random.Random(7)
    return [" ".join(chance.choices(WORDS, k=chance.randint(3, 60))).capitalize() + "." for _ in range(count)]


def pytorch_embeddings(tokenizer, model, texts):
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    rows = [None] * len(texts)
    with torch.inference_mode():
        for begin in range(0, len(order), 32):
            chosen = order[begin:begin + 32]
            batch = tokenizer([texts[i] for i in chosen], padding=True, truncation=True, max_length=256,
                              return_tensors="pt")
            hidden = model(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            mean = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)
            for i, row in zip(chosen, mean):
                rows[i] = row.numpy()
    return np.stack(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder")
    parser.add_argument("model", help="folder of the model")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    texts = sentences(arguments.count)
    tokenizer = transformers.AutoTokenizer.from_pretrained(arguments.model)
    model = transformers.AutoModel.from_pretrained(arguments.model).eval()
    with tempfile.TemporaryDirectory() as folder:
        lnfr, lines, npy = (os.path.join(folder, name) for name in ("model.lnfr", "texts.txt", "vectors.npy"))
        subprocess.run([arguments.build / "converter/linformer-convert", arguments.model, "-o", lnfr, "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        pathlib.Path(lines).write_text("\n".join(texts) + "\n")
        command = [arguments.build / "apps/cli/linformer", "embed", lnfr, "--input", lines, "-o", npy, "--threads",
                   str(arguments.threads)]
        theirs, ours = [], []
        for _ in range(arguments.rounds):
            begin = time.perf_counter()
            wanted = pytorch_embeddings(tokenizer, model, texts)
            theirs.append(time.perf_counter() - begin)
            if os.path.exists(npy):
                os.remove(npy)
            begin = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            ours.append(time.perf_counter() - begin)
        difference = float(np.abs(np.load(npy) - wanted).max())
    print(f"{arguments.count} sentences, {arguments.threads} threads, median of {arguments.rounds} turns")
    print(f"PyTorch {torch.__version__}, model loaded: {statistics.median(theirs):8.2f} s")
    print(f"linformer embed, whole process: {statistics.median(ours):8.2f} s")
    print(f"largest difference of an embedding's element: {difference:.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
