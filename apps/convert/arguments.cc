#include "convert/arguments.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "files/endings.h"
#include "files/output_target.h"
#include "files/terminal_output.h"

namespace linformer::convert {
namespace {

class UsageError : public CLI::ParseError {
 public:
  explicit UsageError(const std::string& sentence) : ParseError("UsageError", sentence, exit_usage) {}
};

// Returns a validator that accepts every value. It only tells CLI11 the choices, which shell completions list. check()
// refuses values that are not among the choices, with a better message than CLI11's.
CLI::Validator choices_for_completion(const std::vector<std::string>& choices) {
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "{" : ",") + choice;
  return CLI::Validator([](std::string&) { return std::string(); }, list + "}");
}

}  // namespace

help::Texts help_texts() {
  return {
      {"--output", "--tokenizer", "--labels", "--config", "--dtype", "--list-dialects", "--list-models"},
      {"linformer-convert checkpoint_best.pt -o my.lnfr --tokenizer vocabulary/ --labels negative,positive",
       "linformer-convert my-model/ -o my-model.lnfr  # a folder with checkpoint, vocabulary, labels.txt",
       "linformer-convert model.safetensors -o model.lnfr --config settings.json --dtype bf16",
       "linformer-convert bert/ -o bert.lnfr --config '{\"sentence_pooling\": \"mean\"}'",
       "linformer-convert checkpoint.pt -o model.lnfr --dtype int8 --dtype-for f32:'classification_heads.*'",
       "linformer-convert model.safetensors.index.json -o model.lnfr  # a checkpoint in several files",
       "linformer-convert checkpoint.pt -o model.lnfr --json  # the report for a program",
       "linformer-convert checkpoint.pt -o - | ssh host 'cat >model.lnfr'  # the report goes to standard error",
       "linformer-convert --from-lnfr model.lnfr -o model.safetensors  # back to the checkpoint's names",
       "linformer-convert --list-dialects  # what is supported, and the settings that it needs",
       "linformer-convert --list-models  # families of models, their heads and what was tested"},
      {"CHECKPOINT may be of PyTorch (any version) or safetensors; nothing in it is ever executed. Settings (--config) "
       "say what tensors do not show, such as {\"encoder_attention_heads\": 12}."}};
}

void declare(CLI::App& app, Arguments* arguments) {
  ConvertOptions& options = arguments->convert;
  app.add_option("CHECKPOINT", options.checkpoint, "checkpoint file, index file of several, or a folder with one")
      ->type_name("");
  app.add_option("-o,--output", options.output, "file to write; - is standard output")->type_name("FILE");
  app.add_option("--tokenizer", options.tokenizer,
                 "folder or file of the vocabulary: tokenizer.json, vocab.json + merges.txt (+ dict.txt), vocab.txt, "
                 "SentencePiece .model")
      ->type_name("PATH");
  app.add_option("--labels", options.labels,
                 "names of the classes in order: a,b or HEAD=a,b, or a file with a name on each line (may be repeated; "
                 "labels that hold an = need HEAD)")
      ->type_name("NAMES")
      ->allow_extra_args(false);
  app.add_option(
         "--head-kind", options.head_kinds,
         "kind of a head's outputs, which overrides the settings: single_label (softmax), multi_label "
         "(sigmoid), score (sigmoid of one output; score:identity, as it is) or regression (values as they are); "
         "KIND or HEAD=KIND (may be repeated)")
      ->type_name("KIND")
      ->allow_extra_args(false);
  app.add_option("--config", options.config,
                 "settings as a JSON file, a pipe or the JSON itself ('{...}'); they override the checkpoint's own. "
                 "The report names settings that nothing used")
      ->type_name("FILE");
  std::vector<std::string> dialects;
  for (const DialectInfo& known : supported_dialects()) {
    dialects.push_back(known.name);
  }
  app.add_option("--dialect", options.dialect,
                 "read the checkpoint as one of this implementation (see --list-dialects) and try no other")
      ->type_name("NAME")
      ->check(choices_for_completion(dialects));
  app.add_option("--dtype", arguments->dtype,
                 "type of the weights: f32 (default), bf16, f16 or int8; PyTorch's names for them are read too")
      ->type_name("TYPE")
      ->check(choices_for_completion({"f32", "bf16", "f16", "int8"}));
  app.add_option("--dtype-for", arguments->dtype_for,
                 "weights of another type, by their names in the checkpoint: f32:PATTERN, such as f32:'*classifier*' "
                 "(may be repeated; the first that fits counts)")
      ->type_name("WEIGHTS")
      ->allow_extra_args(false);
  app.add_option("--from-lnfr", arguments->from_lnfr,
                 "convert back: write this model file as safetensors with the checkpoint's names")
      ->type_name("FILE");
  app.add_flag("--list-dialects", arguments->list_dialects,
               "print the supported implementations and the settings they need");
  app.add_flag("--list-models", arguments->list_models,
               "print the supported model families, their heads and what was tested");
  CLI::Option* json = app.add_flag("--json", arguments->json, "print the report of --verbose as JSON");
  CLI::Option* quiet =
      app.add_flag("--quiet", arguments->quiet,
                   "print neither report nor progress; likely misspellings in --config are still reported on standard "
                   "error");
  app.add_flag("--verbose", arguments->verbose, "print where each setting and tensor came from, and each note")
      ->excludes(json)
      ->excludes(quiet);
  app.add_flag("--no-mmap", arguments->no_mmap,
               "read whole files into memory instead of mapping them, for files that others may change during the run");
  app.add_flag("--force", options.replace_any,
               "replace an existing output even if it is of another kind, and accept any ending of its name");
}

namespace {

ElementType weight_type(const std::string& option, const std::string& name) {
  static constexpr std::pair<const char*, ElementType> types[] = {
      {"f32", ElementType::f32},       {"bf16", ElementType::bf16},   {"f16", ElementType::f16},
      {"int8", ElementType::int8},     {"float32", ElementType::f32}, {"fp32", ElementType::f32},
      {"bfloat16", ElementType::bf16}, {"float16", ElementType::f16}, {"fp16", ElementType::f16}};
  for (const auto& [known, type] : types) {
    if (name == known) return type;
  }
  throw UsageError(option + " takes f32, bf16, f16 or int8, not " + quote(name));
}

KeptWeights kept_weights(const std::string& argument) {
  const size_t colon = argument.find(':');
  if (colon == std::string::npos || colon + 1 == argument.size()) {
    throw UsageError("--dtype-for takes TYPE:PATTERN, such as f32:'*classifier*', not " + quote(argument));
  }
  return {weight_type("--dtype-for", argument.substr(0, colon)), argument.substr(colon + 1)};
}

void check_dialect(const std::string& given) {
  std::string names;
  for (const DialectInfo& known : supported_dialects()) {
    if (given == known.name) return;
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  throw UsageError("there is no dialect " + quote(given) + ": --dialect takes " + names);
}

}  // namespace

void check(const CLI::App& app, Arguments* arguments) {
  if (arguments->list_dialects || arguments->list_models) return;
  const bool back = !arguments->from_lnfr.empty();
  if (app.count("CHECKPOINT") == 0 && !back) {
    throw UsageError("there is no CHECKPOINT: give a file or a folder with one, or a model file with --from-lnfr");
  }
  if (app.count("--output") == 0) {
    throw UsageError(std::string("there is no output: give the file to write, such as -o model.") +
                     (back ? "safetensors" : "lnfr"));
  }
  if (files::is_terminal(arguments->convert.output)) {
    throw UsageError("standard output is a terminal, which can't show a model: give -o FILE, or a pipe");
  }
  using files::FileFormat;
  const std::string contradiction =
      files::wrong_ending_message(arguments->convert.output, back ? FileFormat::safetensors : FileFormat::model);
  if (!contradiction.empty() && !arguments->convert.replace_any) {
    throw UsageError("-o " + contradiction + ", or give --force");
  }
  for (const char* option :
       {"CHECKPOINT", "--tokenizer", "--labels", "--head-kind", "--config", "--dialect", "--dtype", "--dtype-for"}) {
    if (back && app.count(option) > 0) throw CLI::ExcludesError("--from-lnfr", option);
  }
  if (app.count("--dtype") > 0) arguments->convert.weight_type = weight_type("--dtype", arguments->dtype);
  for (const std::string& kept : arguments->dtype_for) arguments->convert.keep.push_back(kept_weights(kept));
  const std::string& dialect = arguments->convert.dialect;
  if (app.count("--dialect") > 0) check_dialect(dialect);
}

}  // namespace linformer::convert
