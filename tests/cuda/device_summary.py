"""Prints a summary of the results of `device.sh run` so far: python3 tests/cuda/device_summary.py FOLDER."""
import json
import os
import re
import sys

AIM = 0.6  # The share of the roofline that calls should reach.


def read_json(folder, name):
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def lines_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def statuses(folder):
    """Yields (step, word, seconds) in the order in which the steps ended."""
    names = [name for name in os.listdir(folder) if name.endswith(".status")]
    names.sort(key=lambda name: os.path.getmtime(os.path.join(folder, name)))
    for name in names:
        words = (lines_of(os.path.join(folder, name)) or [""])[0].split()
        if len(words) >= 2:
            yield name[:-len(".status")], words[0], words[1]


def first_failure(folder, step):
    """Returns six lines of the step's log from the first error on and its last line, or its last six lines."""
    lines = [line for line in lines_of(os.path.join(folder, step + ".log")) if line.strip()]
    for i, line in enumerate(lines):
        if re.search(r"ERROR|FAILED|[Ee]rror:|error |Invalid|hazard|\bfailed\b", line):
            return lines[i:i + 6] + lines[-1:]
    return lines[-6:]


def reason_of(folder, step):
    for line in lines_of(os.path.join(folder, step + ".log")):
        if line.startswith("skipped"):
            return "  " + line
    return ""


def steps_text(folder):
    text, failed = [], []
    for step, word, seconds in statuses(folder):
        text.append(f"  {step:<16} {word:<8} {seconds:>5} s{reason_of(folder, step)}")
        if word in ("failed", "stopped"):
            failed.append(step)
    for step in failed:
        text += ["", f"{step}: the first thing that failed"] + ["    " + line for line in first_failure(folder, step)]
    return text


def device_text(folder):
    for line in lines_of(os.path.join(folder, "device.log")):
        if re.search(r"NVIDIA \w|compute capability|release \d|^PyTorch", line):
            yield "  " + line.strip()


def layer_products(folder):
    said = read_json(folder, "products.json") or {"results": []}
    return {(row["type"], row["n"], row["batch"], row["k"]): row["layer_ms"] for row in said["results"]}


def product_ms_of_call(profile, result):
    """Returns the milliseconds that products took in one call. The profile may cover several calls."""
    flop = sum(op["flop"] for op in profile["ops"])
    calls = max(1, round(flop / 1e9 / result["gflop"]))
    return 1e3 * sum(op["seconds"] for op in profile["ops"] if op["op"] in ("gemm", "compress")) / calls


def bench_text(folder):
    text, slow = [], []
    products = layer_products(folder)
    for name in sorted(os.listdir(folder)):
        match = re.fullmatch(r"bench-(\w+)-(\d+)\.json", name)
        said = read_json(folder, name) if match else None
        if said is None:
            continue
        precision, k = match.group(1), int(match.group(2))
        limits = said["limits"]
        text += ["", f"base, k {k}, {precision}: limits {limits.get(precision + '_gflops') or 0:.0f} GFLOP/s, "
                     f"{limits.get('memory_gbps') or 0:.0f} GB/s",
                 "        n batch         ms   tokens/s  GFLOP/s  roofline ms  of roofline  products ms  cuBLASLt ms"]
        for result in said["results"]:
            if "error" in result:
                text.append(f"  {result['n']:>7} {result['batch']:>5}  {result['error']}")
                continue
            share, profile = result.get("share_of_roofline") or 0, result.get("profile")
            ours = product_ms_of_call(profile, result) if profile else 0
            theirs = 12 * products.get((precision, result["n"], result["batch"], k), 0)
            text.append(f"  {result['n']:>7} {result['batch']:>5} {result['median_ms']:>10.3f} "
                        f"{result['tokens_per_second']:>10.0f} {result['gflops']:>8.0f} {result['roofline_ms']:>12.3f} "
                        f"{100 * share:>10.1f} % {ours:>12.3f} {theirs:>12.3f}" + ("" if share >= AIM else "  < 60 %"))
            if profile:
                slow.append((share, precision, k, result, profile))
    if slow:
        share, precision, k, result, profile = min(slow, key=lambda one: one[0])
        text += ["", f"Slowest ops where least of the roofline is reached: {precision}, k {k}, n {result['n']}, batch "
                     f"{result['batch']}"]
        for op in profile["ops"][:6]:
            rate = op["flop"] / op["seconds"] / 1e9 if op["seconds"] else 0
            text.append(f"  {100 * op['share']:5.1f} %  {rate:8.0f} GFLOP/s  {op['op']:<12} {op['part']}: "
                        f"{op['operands'][:90]}")
    return text


def torch_text(folder):
    said = read_json(folder, "torch.json")
    if not said:
        return []
    text = ["", f"PyTorch {said['torch']}, ms: linformer, eager, compiled, compiled over linformer"]
    for row in said["results"]:
        cells = [format(row[name], ".3f") if name in row else "-" for name in
                 ("linformer_ms", "eager_ms", "compiled_ms", "compiled_over_linformer")]
        text.append(f"  {row['precision']:<5}{row['n']:>7}{row['batch']:>5}  " +
                    "  ".join(cell.rjust(9) for cell in cells))
    return text


def paper_text(folder):
    text = []
    for precision in ("f16", "f32"):
        said = read_json(folder, f"paper-{precision}.json")
        for one in (said or {}).get("paper", []):
            measured = [cell for cell in one["cells"] if "time_saved" in cell and cell["time_saved"]["ours"]]
            reached = sum(cell["time_saved"]["ours"] >= cell["time_saved"]["paper"] for cell in measured)
            text.append(f"bench --paper, {precision}: {reached} of {len(measured)} measured cells save as much time as "
                        "the paper's")
    return text


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    folder = sys.argv[1]
    text = ["Steps"] + steps_text(folder)
    device = list(device_text(folder))
    text += [""] + ["Device"] + device if device else []
    text += bench_text(folder) + torch_text(folder) + [""] + paper_text(folder)
    text += ["Files: " + ", ".join(sorted(name for name in os.listdir(folder) if name[0] != "."))]
    print("\n".join(text))


if __name__ == "__main__":
    main()
