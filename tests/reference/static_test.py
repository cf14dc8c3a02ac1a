#!/usr/bin/env python3
"""Compares static embeddings with model2vec and sentence-transformers, and prompts with sentence-transformers, on small
random models.

    static_test.py LINFORMER LINFORMER_CONVERT WORK
    static_test.py LINFORMER LINFORMER_CONVERT WORK --speed SENTENCES
    static_test.py --goldens FOLDER

--speed prints instead the sentences per second of model2vec and linformer, with a table of 29,528 x 256 as in
potion-base-8M. --goldens writes the folders of tests/data/static_embedding with the vectors that the two libraries
compute. The exit code is 77 if the libraries are neither in this Python nor in the one that apps/bench/peers.py made.
"""
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import time

try:
    import model2vec
    import numpy
    import sentence_transformers
    import tokenizers
    import torch
    import transformers
    from sentence_transformers.sentence_transformer import modules
except ImportError:
    peers = pathlib.Path.home() / ".cache/linformer-peers/bin/python"
    if peers.exists() and pathlib.Path(sys.executable) != peers:
        os.execv(peers, [str(peers)] + sys.argv)
    print("skipped: model2vec and sentence-transformers are not installed")
    sys.exit(77)

WORDS = ("a the of film plot sea storm ship captain letter garden bread music engine road winter summer city river "
         "night morning house train king queen poem painter dog cat stone fire water friend enemy").split()
LETTERS = "bcdefghijklmnopqrstuvwxyz"  # "a" is in WORDS.
VOCABULARY = (["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "!", ":", *WORDS, *LETTERS] +
              ["##" + c for c in "a" + LETTERS] + ["query", "passage"])


def make_tokenizer(vocabulary=VOCABULARY, added=()):
    from tokenizers import models, normalizers, pre_tokenizers, processors
    made = tokenizers.Tokenizer(models.WordPiece({token: i for i, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    if added:
        made.add_tokens(list(added))
    return made


def sentences(count, most, seed):
    chance = random.Random(seed)
    texts = []
    for _ in range(count):
        words = [chance.choice(WORDS + ["zqx", "unusual", "日本", "Ünlü", "§"]) for _ in range(1 + chance.randrange(most))]
        texts.append(" ".join(words) + chance.choice([".", "!", ""]))
    return texts


def all_texts():
    return sentences(40, 60, 3) + [
        "", " ", "§", "[UNK]", "[UNK] film [PAD]", "the [CLS] sea [SEP]", "query: the sea", "a" * 3000, "zqx " * 700,
        "日本" * 400, "the film " * 1200, "§ storm § sea " * 300, "naïve café — déjà vu", "film\n\tsea"]


def run(*arguments):
    ran = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {ran.stderr}")
    return ran.stdout


def vectors_of(folder, texts, *options, convert=()):
    path = folder.with_suffix(".lnfr")
    run(CONVERT, folder, "-o", path, "--quiet", *convert)
    (WORK / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    lines = run(LINFORMER, "embed", path, "-i", WORK / "texts.jsonl", "--json", "--quiet", *options).splitlines()
    return numpy.array([json.loads(line)["embedding"] for line in lines], dtype=numpy.float64)


def compare(what, ours, theirs, tolerance):
    theirs = numpy.asarray(theirs, dtype=numpy.float64)
    assert ours.shape == theirs.shape, (what, ours.shape, theirs.shape)
    error = numpy.abs(ours - theirs).max(axis=1) / numpy.abs(theirs).max()
    if not error.max() <= tolerance:
        sys.exit(f"{what}: text {int(error.argmax())} differs by {error.max():g} of the largest value")
    return error.max()


def model2vec_models(width=24):
    """Yields pairs of a name and a model."""
    chance = numpy.random.default_rng(5)
    rows = chance.normal(size=(len(VOCABULARY), width)).astype(numpy.float32)
    mapping = chance.integers(0, 17, len(VOCABULARY))
    weights = chance.uniform(0.1, 2, len(VOCABULARY)).astype(numpy.float32)
    tokenizer = make_tokenizer()
    static = model2vec.StaticModel
    yield "plain", static(rows, tokenizer)
    yield "normalized", static(rows, tokenizer, normalize=True)
    yield "mapped", static(rows[:17], tokenizer, weights=weights, token_mapping=mapping, normalize=True)
    yield "weighted", static(rows, tokenizer, weights=weights)
    yield "half", static(rows.astype(numpy.float16), tokenizer, normalize=True)
    yield "int8", static((rows * 30).astype(numpy.int8), tokenizer, normalize=True)
    yield "short", static(rows, tokenizer, max_length=9)
    yield "unlimited", static(rows, tokenizer, max_length=None)
    more = numpy.concatenate([rows, rows[:2]])
    yield "added", static(more, make_tokenizer(added=["storm sea", "film!"]), max_length=20)


def module_models(width=24):
    rows = numpy.random.default_rng(6).normal(size=(len(VOCABULARY), width)).astype(numpy.float32)
    torch.manual_seed(2)

    def made(*behind, tokenizer=None, **more):
        first = modules.StaticEmbedding(tokenizer or make_tokenizer(), embedding_weights=rows)
        return sentence_transformers.SentenceTransformer(modules=[first, *behind], device="cpu", **more)

    yield "module", made(), [None]
    yield "module-normalized", made(modules.Normalize()), [None]
    yield "module-dense", made(modules.Dense(width, 10), modules.Normalize()), [None]
    cut = make_tokenizer()
    cut.enable_truncation(7)
    yield "module-cut", made(tokenizer=cut), [None]
    yield ("module-prompts", made(prompts={"query": "query: ", "document": "", "passage": "the passage "},
                                  default_prompt_name="passage"), [None, "", "query", "document", "passage"])


def transformer_model():
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=make_tokenizer(), unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=40)
    torch.manual_seed(3)
    settings = transformers.BertConfig(vocab_size=len(VOCABULARY), hidden_size=24, num_hidden_layers=2,
                                       num_attention_heads=4, intermediate_size=48, max_position_embeddings=40,
                                       initializer_range=0.4)
    folder = WORK / "bert"
    transformers.BertModel(settings, add_pooling_layer=False).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    first = modules.Transformer(str(folder))
    return sentence_transformers.SentenceTransformer(
        modules=[first, modules.Pooling(24, "mean"), modules.Normalize()], device="cpu",
        prompts={"query": "query: ", "document": "passage: "}, default_prompt_name="document")


def encode(model, texts, prompt):
    more = {} if prompt is None else {"prompt": ""} if prompt == "" else {"prompt_name": prompt}
    # The texts are encoded one by one, because the library pads a batch.
    return numpy.stack([model.encode([text], **more)[0] for text in texts])


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    texts, cases, worst = all_texts(), 0, 0.0
    tolerance = 1e-6
    for name, model in model2vec_models():
        folder = WORK / name
        model.save_pretrained(folder)
        # The library sums in the type of the table, and for long texts the fifth digit is then wrong. So the table is
        # converted to float64.
        loaded = model2vec.StaticModel.from_pretrained(folder)
        loaded.embedding = loaded.embedding.astype(numpy.float64)
        theirs = loaded.encode(texts)
        worst = max(worst, compare(name, vectors_of(folder, texts), theirs, tolerance))
        ours = vectors_of(folder, texts, "--threads", "2", "--batch", "7")
        compare(f"{name}, two threads", ours, theirs, tolerance)
        for precision in ("bf16", "int8"):
            compare(f"{name} in {precision}", vectors_of(folder, texts, convert=("--dtype", precision)), theirs, 0.02)
        back = (WORK / "back").with_suffix(".safetensors")
        run(CONVERT, folder, "-o", folder.with_suffix(".lnfr"), "--quiet")
        run(CONVERT, "--from-lnfr", folder.with_suffix(".lnfr"), "-o", back, "--force", "--quiet")
        compare(f"{name} there and back", vectors_of(back, texts), ours, 0)
        os.remove(folder / "modules.json")
        compare(f"{name} without modules.json", vectors_of(folder, texts), theirs, tolerance)
        cases += 5 * len(texts)
    models = [*module_models(), ("prompts", transformer_model(), [None, "", "query", "document"])]
    for name, model, prompts in models:
        folder = WORK / name
        model.save(str(folder))
        model.double()
        for prompt in prompts:
            options = [] if prompt is None else ["--prompt", prompt]
            # For encoders with layers, sessions strip padding and refuse texts without tokens.
            shown = texts if name != "prompts" else [text for text in texts if text.strip() and "[PAD]" not in text]
            theirs = encode(model, shown, prompt)
            tolerance = 1e-6 if name != "prompts" else 2e-5
            worst = max(worst, compare(f"{name}, prompt {prompt}", vectors_of(folder, shown, *options), theirs, tolerance))
            cases += len(shown)
    print(f"{cases} vectors, worst error {worst:.1e} of the largest value")


def speed(count):
    """Times model2vec and linformer on one thread by processor time, on which other programs have little influence."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    chance = random.Random(9)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = sorted({"".join(chance.choice(letters) for _ in range(chance.randrange(2, 9))) for _ in range(32000)})[:29000]
    vocabulary = VOCABULARY + [word for word in words if word not in set(VOCABULARY)]
    rows = numpy.random.default_rng(5).normal(size=(len(vocabulary), 256)).astype(numpy.float32)
    model = model2vec.StaticModel(rows, make_tokenizer(vocabulary), normalize=True)
    model.save_pretrained(WORK / "speed")
    texts = [" ".join(chance.choice(words) for _ in range(chance.randrange(5, 30))) for _ in range(count)]
    (WORK / "texts.txt").write_text("\n".join(texts) + "\n")
    path = WORK / "speed.lnfr"
    run(CONVERT, WORK / "speed", "-o", path, "--quiet")
    model.encode(texts[:100])
    for _ in range(3):
        start = time.process_time()
        theirs = model.encode(texts, use_multiprocessing=False)
        seconds, before = time.process_time() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        run(LINFORMER, "embed", path, "-i", WORK / "texts.txt", "-o", WORK / "ours.npy", "--threads", "1", "--quiet")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        ours = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"model2vec {count / seconds:,.0f} sentences a second, linformer embed, its start and files included, "
              f"{count / ours:,.0f}")
    compare("speed", numpy.load(WORK / "ours.npy").astype(numpy.float64), theirs, 1e-6)


def goldens(folder):
    shutil.rmtree(folder, ignore_errors=True)
    texts = all_texts()
    cases = dict(model2vec_models(6))
    made = {}
    for name in ("mapped", "short"):
        cases[name].save_pretrained(folder / name)
        os.remove(folder / name / "README.md")
        cases[name].embedding = cases[name].embedding.astype(numpy.float64)
        made[name] = {"": cases[name].encode(texts)}
    for name, model, prompts in module_models(6):
        if name != "module-prompts":
            continue
        model.save(str(folder / name))
        os.remove(folder / name / "README.md")
        model.double()
        made[name] = {prompt or "": encode(model, texts, prompt or "") for prompt in prompts[1:]}
    (folder / "vectors.json").write_text(json.dumps({
        "model2vec": model2vec.version.__version__, "sentence_transformers": sentence_transformers.__version__,
        "texts": texts, "vectors": {name: {prompt: [[round(float(x), 8) for x in row] for row in rows]
                                           for prompt, rows in runs.items()} for name, runs in made.items()}},
        ensure_ascii=False) + "\n")


transformers.logging.set_verbosity_error()
if sys.argv[1] == "--goldens":
    goldens(pathlib.Path(sys.argv[2]))
else:
    LINFORMER, CONVERT, WORK = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    if "--speed" in sys.argv:
        speed(int(sys.argv[sys.argv.index("--speed") + 1]))
    else:
        main()
