"""Compares the entities and answers of the shared library with transformers.

    python3 tests/reference/spans.py BUILD_FOLDER [--texts 200]

Makes small random BERT, RoBERTa and XLM-RoBERTa models for token classification and for question answering, each with a
tokenizer that this script trains, and converts them. Entities are compared with transformers'
TokenClassificationPipeline, with every aggregation: labels, offsets and texts must be equal, and scores within 1e-5.
Answers are compared with the QuestionAnsweringPipeline of transformers 4 (align_to_words=False), which this script
implements, because later versions don't have it. Prints cases and differences. The exit code is 1 if there are
differences. Without torch and transformers it prints "skipped".
"""

import argparse
import ctypes
import pathlib
import random
import sys
import tempfile

from transformers_peer import Failure, convert, imported

np, torch, transformers = imported()
import tokenizers  # transformers depends on this package.

torch.set_num_threads(1)
TOLERANCE = 1e-5
POSITIONS = 64
LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG", "MISC"]
AGGREGATIONS = ["simple", "none", "first", "average", "max"]
PARTS = (
    "Maria and José visited Zürich, then Ólafsvík in Iceland; the Société Générale paid 1,200 € to NATO's "
    "headquarters (Brussels). 東京 is large. Ångström's e\u0301tude \U0001f600 unwillingly re-reads: don't! "
    "GOOD Good good film FILM plots plotting İstanbul ﬁne x_y a.b"
).split(" ")


class Report(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("index", ctypes.c_size_t), ("code", ctypes.c_int32),
                ("message", ctypes.c_char_p)]


class Entity(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("label", ctypes.c_char_p), ("text", ctypes.POINTER(ctypes.c_char)),
                ("bytes", ctypes.c_size_t), ("offset", ctypes.c_uint32 * 2), ("score", ctypes.c_float)]


class Answer(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("text", ctypes.POINTER(ctypes.c_char)), ("bytes", ctypes.c_size_t),
                ("offset", ctypes.c_uint32 * 2), ("score", ctypes.c_float), ("no_answer", ctypes.c_int32)]


def found(kind):
    class Found(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("report", ctypes.POINTER(Report)), ("list", ctypes.POINTER(kind)),
                    ("count", ctypes.c_size_t)]
    return Found


class Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char * 384)]


class Library:
    def __init__(self, build, folder):
        self.build, self.folder = pathlib.Path(build), pathlib.Path(folder)
        self.library = ctypes.CDLL(str(self.build / "runtime" / "liblinformer.so"))

    def call(self, name, *arguments):
        status = Status()
        if getattr(self.library, name)(*arguments, ctypes.byref(status)) != 0:
            raise Failure(f"{name}: {status.message.decode()}")

    def load(self, source):
        output = convert(self.build / "apps/convert/linformer-convert", source, self.folder / "model.lnfr")
        model = ctypes.c_void_p()
        self.call("lnf_model_load", str(output).encode(), None, ctypes.byref(model))
        return model

    @staticmethod
    def texts(texts):
        encoded = [text.encode() for text in texts]
        return ((ctypes.c_char_p * len(texts))(*encoded), (ctypes.c_size_t * len(texts))(*map(len, encoded)))

    def run(self, name, kind, handle, *lists):
        """Returns a list for each text: label, offsets, text and score of each item that was found."""
        made = []

        def visit(_, said):
            said = said.contents
            if said.report.contents.code != 0:
                raise Failure(said.report.contents.message.decode())
            made.append([(getattr(item, "label", b"").decode(), item.offset[0], item.offset[1],
                          item.text[: item.bytes].decode(), item.score) for item in said.list[: said.count]])
            return 1

        called = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(found(kind)))(visit)
        arguments = [part for texts in lists for part in self.texts(texts)]
        self.call(name, handle, *arguments, ctypes.c_size_t(len(lists[0])), called, None, None)
        return made

    def tag(self, model, aggregation, texts):
        tagger = ctypes.c_void_p()
        self.call("lnf_tagger_create", model, AGGREGATIONS.index(aggregation), -1, None, ctypes.byref(tagger))
        made = self.run("lnf_tag", Entity, tagger, texts)
        self.library.lnf_tagger_free(tagger)
        return made

    def answer(self, model, most, top_k, no_answer, questions, contexts):
        answerer = ctypes.c_void_p()
        self.call("lnf_answerer_create", model, ctypes.c_int64(most), ctypes.c_int64(top_k), int(no_answer), -1, None,
                  ctypes.byref(answerer))
        made = self.run("lnf_answer", Answer, answerer, questions, contexts)
        self.library.lnf_answerer_free(answerer)
        return made


def random_text(chance, most):
    return " ".join(chance.choice(PARTS) for _ in range(chance.randint(1, most)))


def trained_tokenizers(folder):
    chance = random.Random(1)
    corpus = [random_text(chance, 30) for _ in range(200)]

    def saved(name, tokenizer, made):
        made.model_max_length = POSITIONS if name == "Bert" else POSITIONS - 2  # The model file has the same limit.
        made.save_pretrained(folder / name)
        return name, made

    wordpiece = tokenizers.BertWordPieceTokenizer(lowercase=False)
    wordpiece.train_from_iterator(corpus, vocab_size=220, min_frequency=1, show_progress=False)
    yield saved("Bert", wordpiece, transformers.BertTokenizerFast(tokenizer_object=wordpiece._tokenizer,
                                                                  do_lower_case=False))
    lowered = tokenizers.BertWordPieceTokenizer(lowercase=True)
    lowered.train_from_iterator(corpus, vocab_size=200, min_frequency=1, show_progress=False)
    yield saved("Bert", lowered, transformers.BertTokenizerFast(tokenizer_object=lowered._tokenizer))
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe = tokenizers.ByteLevelBPETokenizer(trim_offsets=True)
    bpe.train_from_iterator(corpus, vocab_size=330, min_frequency=1, special_tokens=special, show_progress=False)
    bpe._tokenizer.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True,
                                                                            add_prefix_space=False)
    yield saved("Roberta", bpe, transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer, bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>",
        pad_token="<pad>", unk_token="<unk>", mask_token="<mask>"))
    unigram = tokenizers.Tokenizer(tokenizers.models.Unigram())
    unigram.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    unigram.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(vocab_size=150, special_tokens=special, unk_token="<unk>",
                                                 show_progress=False)
    unigram.train_from_iterator(corpus, trainer)
    unigram.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    yield saved("XLMRoberta", unigram, transformers.PreTrainedTokenizerFast(
        tokenizer_object=unigram, bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>",
        pad_token="<pad>", unk_token="<unk>", mask_token="<mask>"))


def random_model(family, head, tokenizer, folder):
    torch.manual_seed(3)
    config = getattr(transformers, family + "Config")(
        vocab_size=len(tokenizer), max_position_embeddings=POSITIONS, initializer_range=0.3, hidden_size=48,
        num_hidden_layers=2, num_attention_heads=4, intermediate_size=80, pad_token_id=tokenizer.pad_token_id,
        type_vocab_size=2 if family == "Bert" else 1)
    if head == "ForTokenClassification":
        config.id2label = dict(enumerate(LABELS))
        config.label2id = {label: index for index, label in enumerate(LABELS)}
    model = getattr(transformers, family + head)(config).eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def expected_answers(model, tokenizer, question, context, most, top_k, no_answer):
    """Computes answers as QuestionAnsweringPipeline of transformers 4 with align_to_words=False."""
    window = min(tokenizer.model_max_length, 384)
    encoded = tokenizer(question, context, truncation="only_second", max_length=window, stride=min(window // 2, 128),
                        return_overflowing_tokens=True, return_offsets_mapping=True)
    answers, null_score = [], 1e6
    for i, ids in enumerate(encoded["input_ids"]):
        inputs = {"input_ids": torch.tensor([ids])}
        if "token_type_ids" in encoded and model.config.type_vocab_size > 1:
            inputs["token_type_ids"] = torch.tensor([encoded["token_type_ids"][i]])
        with torch.no_grad():
            output = model(**inputs)
        may = np.array([text == 1 for text in encoded.sequence_ids(i)])
        may_or_cls = may | (np.array(ids) == tokenizer.cls_token_id)
        chances = []
        for logits in (output.start_logits, output.end_logits):
            logits = np.where(may_or_cls, logits[0].numpy().astype(np.float64), -10000.0)
            exponents = np.exp(logits - logits.max())
            chances.append(exponents / exponents.sum())
        start, end = chances
        null_score = min(null_score, start[0] * end[0])
        start[0] = end[0] = 0
        candidates = np.tril(np.triu(np.outer(start, end)), most - 1)
        order = np.argsort(-candidates.flatten(), kind="stable")[:top_k]
        for s, e in zip(*np.unravel_index(order, candidates.shape)):
            if not (may[s] and may[e]):
                continue
            begin, stop = encoded["offset_mapping"][i][s][0], encoded["offset_mapping"][i][e][1]
            text = context[begin:stop]
            same = next((answer for answer in answers if answer[3].lower() == text.lower()), None)
            if same:
                same[4] += candidates[s, e]
            else:
                answers.append(["", begin, stop, text, candidates[s, e]])
    if no_answer:
        answers.append(["", 0, 0, "", null_score])
    return sorted(answers, key=lambda answer: -answer[4])[:top_k]


class Count:
    def __init__(self):
        self.cases = self.items = self.differences = 0
        self.worst = 0.0

    def compare(self, made, expected, what):
        self.cases += 1
        self.items += len(expected)
        same = [tuple(item[:4]) for item in made] == [tuple(item[:4]) for item in expected]
        if same:
            errors = [abs(a[4] - b[4]) for a, b in zip(made, expected)]
            self.worst = max([self.worst] + errors)
            same = all(error <= TOLERANCE for error in errors)
        if not same:
            self.differences += 1
            if self.differences <= 3:
                print(f"{what}\n  {made}\n  {expected}")

    def print(self, name):
        print(f"{name:40} {self.cases:6} cases {self.items:7} found {self.differences:3} differences, "
              f"scores to {self.worst:.1e}", flush=True)
        return self.differences


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--texts", type=int, default=200)
    given = parser.parse_args()
    chance = random.Random(5)
    differences = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        library = Library(given.build, folder)
        for number, (family, tokenizer) in enumerate(trained_tokenizers(folder)):
            texts = ["", " ", "."] + [random_text(chance, 12) for _ in range(given.texts)]
            # Longer texts are left out: the pipeline cuts them, but this library reads them in windows.
            texts = [text for text in texts if len(tokenizer(text)["input_ids"]) <= tokenizer.model_max_length]
            source = folder / f"{number}_tags"
            model = random_model(family, "ForTokenClassification", tokenizer, source)
            pipeline = transformers.pipeline("token-classification", model=model, tokenizer=tokenizer)
            file = library.load(source)
            for aggregation in AGGREGATIONS:
                count = Count()
                for text, made in zip(texts, library.tag(file, aggregation, texts)):
                    expected = [(item.get("entity_group", item.get("entity")), item["start"], item["end"],
                                 text[item["start"] : item["end"]], float(item["score"]))
                                for item in pipeline(text, aggregation_strategy=aggregation)]
                    count.compare(made, expected, repr(text))
                differences += count.print(f"{family} {number}, tag --aggregation {aggregation}")
            source = folder / f"{number}_answers"
            model = random_model(family, "ForQuestionAnswering", tokenizer, source)
            file = library.load(source)
            questions = [random_text(chance, 2) for _ in range(given.texts)]
            contexts = [random_text(chance, 40) for _ in range(given.texts)]
            pairs = [pair for pair in zip(questions, contexts) if len(tokenizer(pair[0])["input_ids"]) < 24]
            questions, contexts = zip(*pairs)
            for most, top_k, no_answer in ((15, 1, False), (15, 5, True), (3, 20, False)):
                count = Count()
                answers = library.answer(file, most, top_k, no_answer, questions, contexts)
                for question, context, made in zip(questions, contexts, answers):
                    expected = expected_answers(model, tokenizer, question, context, most, top_k, no_answer)
                    count.compare(made, expected, repr((question, context)))
                differences += count.print(f"{family} {number}, answer --top-k {top_k}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
