#!/usr/bin/env python3
"""Compares sentence vectors of trained models with sentence-transformers.

    sentence_models.py BUILD_FOLDER SENTENCES MODEL_FOLDER...

BUILD_FOLDER has linformer and linformer-convert, SENTENCES is a file with one text per line, and each MODEL_FOLDER is a
model of sentence-transformers. For each model and type of weights it prints the mean and the least cosine of the two
vectors, and the largest difference of a number. The exit code is 1 if the least cosine in f32 is below 0.99999, and 77
if sentence-transformers is neither in this Python nor in the one that apps/bench/peers.py made.
"""
import pathlib
import sys
import tempfile

from transformers_peer import SKIPPED, convert, imported, run

numpy = imported(SKIPPED)[0]

LEAST_COSINE = 0.99999  # The limit for f32.


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    try:
        import sentence_transformers
    except ImportError as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    build = pathlib.Path(sys.argv[1])
    converter, linformer = build / "apps/convert/linformer-convert", build / "apps/cli/linformer"
    with open(sys.argv[2], encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip()]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "texts.txt").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        for model in sys.argv[3:]:
            original = sentence_transformers.SentenceTransformer(model, device="cpu").encode(lines, batch_size=32)
            original = original.astype(numpy.float64)
            for dtype in ("f32", "bf16", "int8"):
                file = convert(converter, model, work / "model.lnfr", "--dtype", dtype)
                run(linformer, "embed", file, "-i", work / "texts.txt", "-o", work / "vectors.npy",
                    "--quiet")
                ours = numpy.load(work / "vectors.npy").astype(numpy.float64)
                lengths = numpy.linalg.norm(ours, axis=1) * numpy.linalg.norm(original, axis=1)
                cosines = (ours * original).sum(1) / lengths
                print(f"{pathlib.Path(model).name}, {dtype}: {len(lines)} sentences, cosine {cosines.mean():.7f} on "
                      f"average, {cosines.min():.7f} at the least, difference {abs(ours - original).max():.1e}",
                      flush=True)
                failed |= dtype == "f32" and not cosines.min() >= LEAST_COSINE
    return failed


if __name__ == "__main__":
    sys.exit(main())
