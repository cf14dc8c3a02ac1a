"""Times a full-attention encoder in PyTorch and in linformer-bench, one after the other, in one run.

    python3 apps/bench/beside_pytorch.py build/release/apps/bench/linformer-bench --n 4096 --threads 2

RoBERTa-base size, random f32 weights, one text a call. PyTorch's attention is
torch.nn.functional.scaled_dot_product_attention, as its documentation recommends; the rest are torch.nn layers.
Both are timed in turns, so that a machine whose speed drifts treats both alike; medians are printed.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

LAYERS, D_MODEL, HEADS, FFN = 12, 768, 12, 3072


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.output = (torch.nn.Linear(D_MODEL, D_MODEL) for _ in range(4))
        self.ffn_in, self.ffn_out = torch.nn.Linear(D_MODEL, FFN), torch.nn.Linear(FFN, D_MODEL)
        self.attention_norm, self.ffn_norm = torch.nn.LayerNorm(D_MODEL), torch.nn.LayerNorm(D_MODEL)

    def forward(self, x):
        def heads(y):
            return y.view(1, -1, HEADS, D_MODEL // HEADS).transpose(1, 2)

        context = F.scaled_dot_product_attention(heads(self.query(x)), heads(self.key(x)), heads(self.value(x)))
        x = self.attention_norm(x + self.output(context.transpose(1, 2).reshape(1, -1, D_MODEL)))
        return self.ffn_norm(x + self.ffn_out(F.gelu(self.ffn_in(x))))


def pytorch_ms(model, x, calls):
    times = []
    with torch.inference_mode():
        for _ in range(calls + 1):
            begin = time.perf_counter()
            model(x)
            times.append(1e3 * (time.perf_counter() - begin))
    return times[1:]


def ours(arguments, n):
    command = [arguments.bench, "--random", "base", "--k", "0", "--n", str(n), "--threads", str(arguments.threads),
               "--backend", "native", "--seconds", "0.1", "--json"]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", help="the program linformer-bench")
    parser.add_argument("--n", type=int, nargs="+", default=[4096])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="turns that each takes")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    model = torch.nn.Sequential(*(Layer() for _ in range(LAYERS))).eval()
    print(f"full attention, {LAYERS} layers, d {D_MODEL}, {arguments.threads} threads, PyTorch {torch.__version__}")
    for n in arguments.n:
        x = torch.randn(1, n, D_MODEL)
        times = {"PyTorch": [], "native": []}
        for _ in range(arguments.rounds):
            times["PyTorch"] += pytorch_ms(model, x, 1)
            for row in ours(arguments, n)["results"]:
                times[row["backend"]].append(row["median_ms"])
        for name, values in times.items():
            print(f"n {n:6}  {name:8} {statistics.median(values):10.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
