// linformer-convert: from a trained checkpoint to a model file.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <string>

#include "converter/convert.h"
#include "converter/print_report.h"

namespace {

using linformer::ElementType;

constexpr int exit_bad_input = 1, exit_usage = 2;

constexpr const char* examples = R"(Examples:
  linformer-convert checkpoint_best.pt -o sentiment.lnfr --tokenizer vocabulary/ --labels negative,positive
  linformer-convert my-model/ -o my-model.lnfr          a folder with checkpoint, vocabulary and labels.txt
  linformer-convert model.safetensors -o model.lnfr --config settings.json --dtype bf16
  linformer-convert checkpoint.pt -o model.lnfr --json  the report for a program

CHECKPOINT may be of PyTorch (any version) or safetensors; nothing in it is ever executed.
A file of settings says what tensors do not show, such as {"encoder_attention_heads": 12}.
Exit status: 0 converted, 1 the input is wrong or can't be written, 2 the command line is wrong.)";

// One line on a terminal's stderr, rewritten in place.
class ProgressBar {
 public:
  explicit ProgressBar(bool shown) : shown_(shown && isatty(STDERR_FILENO) == 1) {}
  ~ProgressBar() { clear(); }

  void show(const char* phase, double done) {
    const int percent = static_cast<int>(done * 100);
    if (!shown_ || (percent == percent_ && phase == phase_)) return;
    percent_ = percent;
    phase_ = phase;
    constexpr int width = 40;
    const std::string filled(static_cast<size_t>(percent * width / 100), '#');
    std::fprintf(stderr, "\r%s [%-*s] %3d %%", phase, width, filled.c_str(), percent);
    std::fflush(stderr);
  }
  void clear() {
    if (shown_ && percent_ >= 0) std::fprintf(stderr, "\r%*s\r", 64, "");
    percent_ = -1;
  }

 private:
  bool shown_;
  int percent_ = -1;
  const char* phase_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Converts a trained Linformer checkpoint to a .lnfr model file.", "linformer-convert");
  app.footer(examples);
  app.set_version_flag("--version", std::string("linformer-convert ") + LINFORMER_VERSION);
  linformer::convert::ConvertOptions options;
  bool json = false, quiet = false;
  app.add_option("CHECKPOINT", options.checkpoint, "checkpoint file, or a folder with one")->required();
  app.add_option("-o,--output", options.output, "model file to write")->required();
  app.add_option("--tokenizer", options.tokenizer,
                 "folder or file of the vocabulary: tokenizer.json, vocab.json + merges.txt (+ dict.txt), vocab.txt");
  app.add_option("--labels", options.labels, "names of the classes in order: a,b or HEAD=a,b (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--config", options.config, "JSON file of settings; they come before the checkpoint's own");
  app.add_option("--dtype", options.weight_type, "type of the weights: f32 (default), bf16 or f16")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ElementType>{
          {"f32", ElementType::f32}, {"bf16", ElementType::bf16}, {"f16", ElementType::f16}}))
      ->option_text("f32|bf16|f16");
  app.add_flag("--json", json, "print the report as JSON");
  app.add_flag("--quiet", quiet, "print neither report nor progress");
  app.add_flag("--force", options.replace_any, "replace an existing output even if it is no model file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }

  ProgressBar bar(!quiet);
  options.progress = [&bar](const char* phase, double done) { bar.show(phase, done); };
  try {
    const linformer::convert::Report report = linformer::convert::convert_checkpoint(options);
    bar.clear();
    if (json) {
      print_json(report, std::cout);
    } else if (!quiet) {
      print_table(report, std::cout);
    }
    std::cout.flush();
    if (!std::cout) {
      std::cerr << "linformer-convert: the report could not be printed\n";
      return exit_bad_input;
    }
    return 0;
  } catch (const std::exception& error) {
    bar.clear();
    if (json) linformer::convert::print_json_error(error.what(), std::cout);
    std::cerr << "linformer-convert: " << error.what() << "\n";
    return exit_bad_input;
  }
}
