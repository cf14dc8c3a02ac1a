"""peers.py sentences: times a BERT with mean pooling and normalised vectors, such as all-MiniLM-L6-v2."""
import json
import os
import tempfile

from . import framing, ours, texts, turns
from . import weights as w
from .common import UserError, note, processor, progress, write_json
from .compare import compare_all
from .encode import SEED

# The number of tokens at which sentence-transformers cuts the texts of all-MiniLM-L6-v2.
LONGEST = 256


def make_random_model(folder, vocabulary):
    """Writes a folder of sentence-transformers with a model of MiniLM's shape and random weights."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    if not vocabulary:
        raise UserError("--model random needs --vocabulary: a vocab.txt of BERT")
    path = os.path.join(vocabulary, "vocab.txt") if os.path.isdir(vocabulary) else vocabulary
    try:
        with open(path, encoding="utf-8") as file:
            words = {word: i for i, word in enumerate(file.read().split("\n")) if word}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--vocabulary {path} can't be read: {getattr(error, 'strerror', None) or error}") from error
    for special in ("[PAD]", "[UNK]", "[CLS]", "[SEP]"):
        if special not in words:
            raise UserError(f"{path} is no vocabulary of BERT: it has no {special}")
    if words["[PAD]"] != 0:
        raise UserError(f"{path}: [PAD] must be the first token")
    # The converter and the tokenizer of the other engines read the same file.
    tokenizer = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, words[name]) for name in ("[CLS]", "[SEP]")])
    tokenizer.add_special_tokens([name for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if name in words])
    os.makedirs(os.path.join(folder, "1_Pooling"))
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as file:
        file.writelines(word + "\n" for word in words)

    def write(name, value):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(value, file)

    shape = w.Shape(**{**w.MINILM, "vocabulary": max(words.values()) + 1})
    weights = w.random_weights(shape, 2, SEED, spread=0.05)
    w.save(os.path.join(folder, "model.safetensors"), weights, w.BERT)
    kind = "sentence_transformers.models."
    write("config.json", w.bert_config(shape, "bert"))
    write("tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": True,
                                    "model_max_length": LONGEST, "unk_token": "[UNK]", "sep_token": "[SEP]",
                                    "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"})
    write("modules.json", [{"idx": 0, "name": "0", "path": "", "type": kind + "Transformer"},
                           {"idx": 1, "name": "1", "path": "1_Pooling", "type": kind + "Pooling"},
                           {"idx": 2, "name": "2", "path": "2_Normalize", "type": kind + "Normalize"}])
    write("sentence_bert_config.json", {"max_seq_length": LONGEST, "do_lower_case": False})
    write("1_Pooling/config.json", {
        "word_embedding_dimension": shape.d, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True,
        "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False})


def longest_text(folder, shape):
    try:
        with open(os.path.join(folder, "sentence_bert_config.json"), encoding="utf-8") as file:
            return min(shape.longest, json.load(file)["max_seq_length"])
    except (OSError, ValueError, KeyError, TypeError):
        return shape.longest


def check_pooling(folder):
    try:
        with open(os.path.join(folder, "1_Pooling", "config.json"), encoding="utf-8") as file:
            pooling = json.load(file)
    except (OSError, ValueError) as error:
        raise UserError(f"{folder} is no model of sentence-transformers: 1_Pooling/config.json can't be "
                        "read") from error
    if not os.path.isfile(os.path.join(folder, "tokenizer.json")):
        raise UserError(f"{folder} has no tokenizer.json, which the other engines need")
    if not pooling.get("pooling_mode_mean_tokens", pooling.get("pooling_mode") == "mean"):
        raise UserError(f"{folder}: only mean pooling can be compared (1_Pooling/config.json says otherwise)")


def calibrate(path, folder, lines, longest, pad, options):
    tokenizer = framing.bert_tokenizer(folder, longest, pad)
    ordered = sorted(lines, key=len)
    texts.write_calibration(path, [framing.bert_batch(tokenizer, [ordered[i] for i in chosen]) for chosen
                                   in texts.spread(len(ordered), options.calibrations, options.batch)])


def run(options):
    programs = ours.Programs(options.linformer) if "linformer" in options.engines else None
    if "tokenizers" in options.missing:
        note("linformer is measured alone: the environment has no tokenizers (peers.py setup shows the reason)")
        options.engines = [engine for engine in options.engines if engine == "linformer"]
    elif "transformers" in options.missing and "pytorch" in options.engines:
        note("pytorch is left out: the environment has no transformers (peers.py setup shows the reason)")
        options.engines.remove("pytorch")
    # Empty lines, and white space at both ends of a line, are removed, so that all engines read the same texts.
    lines = [line.strip() for line in texts.lines_of(options.texts) if line.strip()][:options.count]
    if not lines:
        raise UserError(f"{options.texts} has no texts")
    quiet = options.json == "-"
    with tempfile.TemporaryDirectory(prefix="peers-", dir=options.scratch) as folder:
        def path(name):
            return os.path.join(folder, name)

        model = options.model
        if model == "random":
            progress.say("writing random weights ...")
            model = path("model")
            make_random_model(model, options.vocabulary)
        shape, weights = w.read_bert(model)
        check_pooling(model)
        longest = longest_text(model, shape)
        w.save(path("weights.safetensors"), weights)
        del weights
        with open(path("texts.txt"), "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        with open(path("texts.json"), "w", encoding="utf-8") as file:
            json.dump(lines, file)
        if "openvino" in options.engines and "int8" in options.precisions:
            calibrate(path("calibration.npz"), model, lines, longest, shape.pad, options)
        about = {"texts": path("texts.json"), "folder": os.path.abspath(model), "longest": longest, "pad": shape.pad}
        peers = texts.worker_peers(options, folder, "sentences", path("weights.safetensors"), shape,
                                   path("calibration.npz"), about, classifier=False)
        for precision in options.precisions if programs else ():
            command = [programs.linformer, "embed", "{model}", "--input", path("texts.txt"), "-o", "{out}",
                       "--threads", str(options.threads)]
            peers.append(texts.OursOnTexts(precision, programs, model, path(f"{precision}.lnfr"), command))
        outputs = {peer: path(f"output-{i}.npy") for i, peer in enumerate(peers)}
        turns.take_turns(peers, options.rounds, 0, f"{len(lines)} sentences", outputs)
        reference = next((p for p in peers if (p.engine, p.precision) == ("pytorch", "f32")), None)
        if reference is not None:
            compare_all(peers, outputs, reference)
    if not quiet:
        print(f"{processor()}, {options.threads} threads; {len(lines):,} sentences, {shape.layers} layers, "
              f"d {shape.d}; other engines in batches of {options.batch}, linformer as a whole process\n")
        texts.report(peers, len(lines), "sentences", [("mean cosine", "mean_cosine", ".6f"),
                                                      ("least cosine", "least_cosine", ".6f")])
    if options.json:
        write_json(options.json, {
            "task": "sentences", "processor": processor(), "threads": options.threads, "model": options.model,
            "sentences": len(lines), "batch": options.batch, "rounds": options.rounds, "shape": shape._asdict(),
            "results": texts.rows_of(peers, len(lines))})
    return 0 if any(not peer.error for peer in peers) else 1
