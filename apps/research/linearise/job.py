"""Runs the steps of `python -m linearise`, from the options to the report."""
import dataclasses
import os
import pathlib
import platform
import time

import torch
import transformers

from linearise import budget, encoder, evaluate, families, initialise, plan, programs, report, texts, train
from linearise.errors import UserError
from linearise.progress import Progress
from linearise.windows import Windows

MOST_CHECKED = 200  # The most texts that training is checked on. The report is made of other texts.
WORK = "work"  # The folder in the output for files that a run needs and the student doesn't.


@dataclasses.dataclass
class Options:
    """The options of the command line. __main__.py describes them."""
    model: str
    output: str
    texts: list
    test: list = dataclasses.field(default_factory=list)
    fields: list = dataclasses.field(default_factory=list)
    labels: str = None
    k: int = 64
    window: int = 64
    full: str = ""
    plan: str = ""
    budget: str = ""
    exact: bool = True
    initialise: str = "pool"
    separate: bool = False
    length: int = 0
    extend: str = "tile"
    at_once: bool = False
    teacher_steps: int = 0
    held_out: int = 400
    most_texts: int = 0
    threads: int = 0
    device: str = "auto"
    measure: bool = True
    seconds: float = 2.0
    quiet: bool = False
    command: str = ""
    schedule: train.Schedule = dataclasses.field(default_factory=train.Schedule)


class Job:
    def __init__(self, options):
        self.options = options
        self.output = pathlib.Path(options.output)
        self.work = self.output / WORK
        self.progress = Progress(options.quiet)
        self.began = time.monotonic()
        self.threads = options.threads or len(os.sched_getaffinity(0))
        torch.set_num_threads(self.threads)
        self.device = self.choose_device()

    def choose_device(self):
        name = self.options.device
        if name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            device = torch.device(name)
            torch.zeros(1, device=device)
        except (RuntimeError, AssertionError) as error:
            raise UserError(f"--device {name} can't be used: {str(error).splitlines()[0]}") from None
        return device

    # Teacher and texts.

    def load_teacher(self):
        options = self.options
        self.teacher = encoder.load(options.model, seed=options.schedule.seed)
        self.length = options.length or self.teacher.positions
        if not 8 <= self.length <= 1 << 20:
            raise UserError(f"--length {self.length} must be between 8 and {1 << 20}.")
        if self.length > self.teacher.positions and self.teacher.tags:
            raise UserError("a model that answers for each token can't be extended beyond its "
                            f"{self.teacher.positions} tokens: give a smaller --length.")

    def read_texts(self):
        options = self.options
        self.progress.stage("reading")
        every = texts.read_texts(options.texts, options.fields, options.labels, options.most_texts)
        if options.test:
            used, held = every, texts.read_texts(options.test, options.fields, options.labels, options.held_out)
        else:
            used, held = texts.split(every, 0.1, options.held_out, options.schedule.seed)
        used, checked = texts.split(used, 0.05, MOST_CHECKED, options.schedule.seed + 1)
        if 0 in (len(used), len(checked), len(held)):
            raise UserError(f"{len(every)} texts are too few, because some must be held out. Give more texts, or "
                            "--test.")
        self.classes = None
        if options.labels is not None:
            names = texts.class_names(used)
            if self.teacher.classifies and set(names) <= set(self.teacher.labels()):
                self.classes = self.teacher.labels()
            else:
                self.classes = names
        self.new_head = self.classes is not None and not (self.teacher.classifies and
                                                          self.classes == self.teacher.labels())
        def tokens(part):
            return texts.tokenize(part, self.teacher.tokenizer, self.length, self.classes, self.progress.update)
        self.train_tokens, self.checked, self.held_out = tokens(used), tokens(checked), tokens(held)

    # The student.

    def exact_tokens(self):
        tokenizer = self.teacher.tokenizer
        ids = [tokenizer.cls_token_id, tokenizer.sep_token_id] if self.options.exact else []
        return tuple(dict.fromkeys(i for i in ids if i is not None))

    def make_plan(self):
        options, exact, layers = self.options, self.exact_tokens(), self.teacher.layers
        if options.plan:
            return plan.parse(options.plan, layers, exact, self.length)
        changed = plan.make_layer(options.k, options.window, exact, self.length)
        if options.budget:
            if changed is None:
                raise UserError("--budget needs --k or --window, which give the attention of a changed layer.")
            if not programs.available():
                raise UserError("--budget needs the programs linformer and linformer-convert: set "
                                "LINFORMER_CPP_PROGRAMS to their folder.")
            self.progress.stage("budget")
            chosen, self.budget_facts = budget.choose(options.budget, [changed] * layers, Windows(self.teacher),
                                                      self.untrained, self.held_out, self.device, self.length,
                                                      self.threads)
            return chosen
        chosen = [changed] * layers
        for number in self.full_layers(layers):
            chosen[number] = None
        return chosen

    def full_layers(self, layers):
        numbers = []
        for part in filter(None, self.options.full.split(",")):
            number = layers - 1 if part == "last" else int(part) if part.isdigit() else -1
            if not 0 <= number < layers:
                raise UserError(f"--full {part!r} is not a layer: give numbers from 0 to {layers - 1}, or last.")
            numbers.append(number)
        return numbers

    def untrained(self, chosen, source=None, classes=None):
        """Returns a student with this plan and the weights of the folder `source` (by default the model's)."""
        options = self.options
        kind = options.initialise
        compressions = initialise.make_compressions(kind, chosen, self.teacher.to(self.device), self.train_tokens,
                                                    self.device, self.length, options.separate)
        return encoder.load(source or options.model, chosen, compressions, self.length, options.extend, classes,
                            options.schedule.seed).to(self.device)

    def fine_tuned_teacher(self):
        """Trains the Transformer itself with the labels, and returns its folder."""
        options, folder = self.options, self.work / "teacher"
        schedule = dataclasses.replace(options.schedule, steps=options.teacher_steps or options.schedule.steps,
                                       hidden=0.0, dropout=True, cut=False)
        if not (folder / "config.json").exists():
            length = min(self.length, self.teacher.positions)
            model = encoder.load(options.model, classes=self.classes, seed=schedule.seed)
            shorter = self.shortened(self.train_tokens, length), self.shortened(self.checked, length)
            self.progress.stage("teacher")
            trainer = train.Trainer(model, None, *shorter, schedule, self.work / "teacher-training", self.device,
                                    self.progress).run()
            model.save(folder, length)
            trainer.forget()
        return folder

    @staticmethod
    def shortened(tokens, length):
        if max(tokens.lengths()) <= length:
            return tokens
        ids = [tokens.cut(i, length) for i in range(len(tokens))]
        return texts.Tokens(ids, tokens.second, tokens.labels, tokens.pad)

    def run(self):
        options = self.options
        self.budget_facts = None
        self.load_teacher()
        self.read_texts()
        chosen = self.make_plan()
        check_plan(chosen, self.teacher.config)
        source, teacher, classes = options.model, self.teacher, None
        if self.new_head:
            source = self.fine_tuned_teacher()
            teacher = encoder.load(source).to(self.device)
            self.teacher_folder = source
            if options.at_once:  # The student begins with the weights that the teacher had before fine-tuning.
                source, classes = options.model, self.classes
        else:
            self.teacher_folder = options.model
        self.reference = Windows(teacher.to(self.device))
        self.progress.stage("preparing")
        student = self.untrained(chosen, source, classes)
        changed = any(layer is not None for layer in chosen)
        if not changed and self.classes is None:
            raise UserError("all layers stay full and there are no labels: there is nothing to train. Give --k, "
                            "--window or --plan.")
        before = evaluate.compare(student, self.reference, self.held_out, self.device)
        self.progress.stage("training")
        trainer = train.Trainer(student, self.reference, self.train_tokens, self.checked, options.schedule,
                                self.work, self.device, self.progress).run()
        self.progress.stage("saving")
        student.save(self.output, self.length)
        made = self.report(student, trainer, chosen, before)
        report.write(made, self.output)
        trainer.forget()
        self.progress.finish()
        return made

    # The report.

    def report(self, student, trainer, chosen, before):
        options = self.options
        self.progress.stage("comparing")
        made = {
            "model": pathlib.Path(options.model).resolve().name, "plan": plan.describe(chosen),
            "layers_setting": plan.as_setting(chosen), "initialise": options.initialise, "length": self.length,
            "teacher_positions": self.teacher.positions, "seed": options.schedule.seed, "command": options.command,
            "texts": {"train": len(self.train_tokens), "held_out": len(self.held_out),
                      "train_tokens": int(sum(self.train_tokens.lengths()))},
            "schedule": dataclasses.asdict(options.schedule), "budget": self.budget_facts, "threads": self.threads,
            "device": str(self.device), "machine": machine(self.device),
            "versions": f"torch {torch.__version__}, transformers {transformers.__version__}",
            "training": {"steps": trainer.step, "seconds": trainer.seconds, "log": trainer.log},
            "before_training": before,
            "compared": evaluate.compare(student, self.reference, self.held_out, self.device, self.progress.update),
            "layers": evaluate.layer_costs(student, self.reference, self.held_out, self.device)}
        if self.classes is not None:
            made["classes"] = self.classes
        made.update(self.speed())
        made["seconds"] = time.monotonic() - self.began
        return made

    def speed(self):
        if not self.options.measure:
            return {"speed_note": "The speed was not measured because of --no-speed."}
        if not programs.available():
            return {"speed_note": "The speed was not measured, because the programs linformer and linformer-convert "
                                  "are not on the PATH."}
        self.progress.stage("speed")
        self.work.mkdir(parents=True, exist_ok=True)
        files = {"teacher": self.work / "teacher.lnfr", "student": self.work / "student.lnfr"}
        # The teacher's own folder may allow fewer tokens.
        folder = self.work / "teacher-measured"
        encoder.load(self.teacher_folder, positions=self.length, extend=self.options.extend).save(folder, self.length)
        lengths = sorted({max(8, self.length // 4), max(8, self.length // 2), self.length})
        made = {}
        for dtype in ("f32", "int8"):
            programs.convert(folder, files["teacher"], dtype)
            programs.convert(self.output, files["student"], dtype)
            made[dtype] = []
            for n in lengths:
                made[dtype].append({"n": n, **{name: programs.bench(file, n, self.threads, self.options.seconds)
                                               for name, file in files.items()}})
                self.progress.update((len(made) - 1 + len(made[dtype]) / len(lengths)) / 2)
        programs.convert(self.output, files["student"])
        return {"speed": made["f32"], "speed_int8": made["int8"]}


def check_plan(chosen, config):
    """Raises UserError for a plan that the runtime can't execute."""
    pure = [i for i, layer in enumerate(chosen) if layer is not None and not layer.window]
    if pure and families.POSITIONS[config.model_type] == "bias":
        raise UserError(f"layer {pure[0]} has compressed keys and no window, but {config.model_type} adds a bias to "
                        "the scores by the distance between tokens: give --window, or leave the layer full.")


def machine(device):
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    if device.type == "cuda":
        name += ", " + torch.cuda.get_device_name(device)
    return f"{name}, {platform.system()}"
