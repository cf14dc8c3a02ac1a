// The converter turns a trained checkpoint into a model file, and a model file back into a checkpoint. It prints
// nothing, handles no signals and depends on no program.
//
//   linformer::convert::ConvertOptions options;
//   options.checkpoint = "checkpoint_best.pt";
//   options.output = "sentiment.lnfr";
//   options.tokenizer = "vocabulary/";
//   const linformer::convert::Report report = linformer::convert::convert_checkpoint(options);
//
// Unlike the runtime, the converter throws exceptions: Error, whose message is one sentence for the user, or
// std::bad_alloc. It may be called from any thread, and from several threads at once if their outputs differ.
// Everything in a checkpoint is validated before it is used, and nothing in it is ever executed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linformer/model.h"
#include "linformer/status.h"
#include "linformer/tokenizer.h"
#include "linformer/types.h"

namespace linformer::convert {

// An error in an input, a setting or the output. what() is one sentence that says what is wrong and what the user can
// do. Control::option_name sets how the sentence calls the fields of ConvertOptions. Names from files are escaped in
// it.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& sentence, Code code = Code::invalid_argument)
      : std::runtime_error(sentence), code_(code) {}
  // Returns invalid_argument if an input or a setting can't be converted; unsupported if no model file can hold what
  // the checkpoint says, such as a weight beyond the range of its type; io_error if the output can't be written; and
  // cancelled if the caller set Control::cancel. read_tokenizer() may also throw an Error with the code corrupt_file.
  Code code() const { return code_; }

 private:
  Code code_;
};

// A function that is called with the phase, "reading" or "writing", and the share of it that is done, 0 to 1. It is
// called on the thread that converts. An exception that it throws ends the conversion and reaches the caller.
using Progress = std::function<void(const char* phase, double done)>;

// A function that is called with the bytes and the path of each file that is mapped, on the thread that maps it. The
// object that it returns is destroyed before the file is unmapped. Programs that handle SIGBUS, which is raised if
// another process truncates a mapped file, thereby know which pages belong to which file.
using GuardMapping = std::function<std::shared_ptr<void>(std::span<const std::byte> bytes, const std::string& path)>;

// The options that errors and reports may name. All but the last are fields of ConvertOptions or ExportOptions.
enum class Option : uint8_t {
  output,
  tokenizer,
  labels,
  head_kinds,
  config,
  dialect,
  weight_type,
  keep,
  replace_any,
  supported_dialects,  // What shows users the list of supported_dialects(), such as "--list-dialects".
};

// A function that returns the name by which the caller's users know an option, such as "--config" for a program. If
// `value` isn't empty, the result shows the option with that value, such as "--config '{...}'". It is called on the
// thread that converts.
using OptionName = std::function<std::string(Option option, const std::string& value)>;

// The settings of a run, for conversions in both directions.
struct Control {
  Access access = Access::map;  // Whether checkpoints and models are mapped or read into memory.
  GuardMapping guard_mapping;   // May be empty.
  Progress progress;            // May be empty.
  OptionName option_name;       // If empty, errors and reports call options by the names of their fields.
  // May be null. If the caller sets the flag, the conversion ends with Code::cancelled after the current tensor.
  const std::atomic<bool>* cancel = nullptr;
  // The memory, in bytes, that reading a checkpoint's file may take beside the file itself and the values of its
  // tensors. The converter throws Error for a file that needs more. If 0, memory is limited only in proportion to the
  // size of the file (converter/README.md), which holds in any case. max_memory doesn't apply to vocabularies and
  // settings.
  uint64_t max_memory = 0;
};

// Weights that get a type of their own: those whose names in the checkpoint fit a pattern with *, ? and [...] as in a
// shell.
struct KeptWeights {
  ElementType type;
  std::string pattern;
};

struct ConvertOptions {
  // A checkpoint file, the index file of a checkpoint in several files, or a folder with a checkpoint of a usual name.
  // "The checkpoint's folder" below is that folder, or the folder of a file that has a usual name and lies beside a
  // config.json. Other files have no such folder.
  std::string checkpoint;
  std::string output;  // The path of the .lnfr file; "-" is standard output.
  // A file or folder. If empty, the tokenizer of the checkpoint's folder is taken, if there is one.
  std::string tokenizer;
  // Each is "a,b" or the path of a file with one label on each line, and may begin with "HEAD=". If empty, labels.txt
  // is taken from the folder of the tokenizer or of the checkpoint, if there is one.
  std::vector<std::string> labels;
  std::vector<std::string> head_kinds;  // "KIND" or "HEAD=KIND": single_label, multi_label, score or regression.
  // The path of a JSON file with settings, or the JSON itself, which begins with a brace. Settings that it does not
  // give are read from config.json of the checkpoint's folder, if there is one.
  std::string config;
  std::string dialect;  // If not empty, only this dialect is tried.
  // The type of Linear weights, embedding tables and projections. If it is int8, the projections are bf16. All other
  // tensors stay f32.
  ElementType weight_type = ElementType::f32;
  std::vector<KeptWeights> keep;  // The first element whose pattern fits a weight's name sets the type of the weight.
  bool replace_any = false;       // Whether an existing output that is not a model file may be replaced.
  Control control;
};

// A setting that the user gave and that no step of the conversion read.
struct UnusedSetting {
  std::string name, source;
  // A similar name that the conversion looked for and did not find, or "" if there is none.
  std::string did_you_mean;
};

// A report of what a conversion did. Names of tensors and settings are those of the files, without escapes; escaped()
// makes them printable.
struct Report {
  struct Fact {
    std::string name, value;
    std::string source;  // Where the value was read, or what it was inferred from.
  };
  struct Mapping {
    std::string role;    // The tensor's place in the model file, such as layers[0].attention.query.weight.
    std::string tensor;  // The tensor's name in the checkpoint.
    std::string shape;   // Such as "[32, 32] f16".
    std::string note;    // A remark such as "same values as ...", or empty.
  };
  struct Omission {
    std::string tensor, reason;
  };

  std::string checkpoint, format, dialect, recognised_by;
  std::vector<Fact> facts;
  std::vector<Mapping> mapped;
  std::vector<Omission> left_out;
  std::vector<std::string> notes;  // Assumptions and other remarks.
  // Assumptions that may make the model answer differently from what the user expects. A program should show them even
  // if it does not show the report.
  std::vector<std::string> cautions;
  std::vector<UnusedSetting> unused_settings;
  std::string output;
  uint64_t output_bytes = 0;
  std::string weight_type;  // The name of ConvertOptions::weight_type, such as "bf16".

  // The rounding error of a weight that is stored in low precision.
  struct Rounded {
    std::string tensor, type;
    double error = 0;  // |original - stored| / |original|
  };
  std::vector<Rounded> rounded;
  double rounding_error = 0;  // The error of all rounded weights together, as one vector.
  uint64_t bytes_in_f32 = 0;  // The size that the output would have if all its weights were f32.

  void add_fact(std::string name, std::string value, std::string source) {
    facts.push_back({std::move(name), std::move(value), std::move(source)});
  }
};

// Converts a checkpoint. The output file appears under its name only when it is complete: after an Error, a file that
// existed before is unchanged, or replaced as a whole if only its folder could not be synced to the disk. Equal inputs
// and options give equal bytes. Weights are read in pieces, but for the few that are computed anew (such as a weight
// with a spectral norm), so that the memory needed hardly grows with their size.
Report convert_checkpoint(const ConvertOptions& options);

// Reads a tokenizer without a model from a file or folder of the kinds that ConvertOptions::tokenizer accepts. Its
// token ids are those of the files. The tokenizer owns all data that was read. Throws Error if the files can't be read,
// or if a model file could not hold what they describe.
Tokenizer read_tokenizer(const std::string& path);

struct ExportOptions {
  std::string model;         // The path of a .lnfr file.
  std::string output;        // The path of the safetensors file; "-" is standard output.
  bool replace_any = false;  // Whether an existing output that is not a safetensors file may be replaced.
  Control control;           // max_memory is ignored: one tensor at a time is held in memory.
};

struct ExportReport {
  struct Row {
    std::string tensor;
    std::string shape;  // Such as "[32, 32] f16".
    std::string from;   // The tensors of the model file that hold the values.
    std::string note;   // Says which values the model file lacks, or empty.
  };

  std::string model, dialect;
  std::vector<Report::Fact> facts;
  std::vector<Row> rows;
  std::vector<std::string> notes;
  std::string output;
  uint64_t output_bytes = 0;
};

// Turns a model file back into a safetensors checkpoint, with the names and values of the checkpoint that it was made
// from. The output file appears under its name only when it is complete.
ExportReport export_checkpoint(const ExportOptions& options);

// A setting that can't be inferred from the tensors, so that the user must give it.
struct NeededSetting {
  const char* example;  // JSON for ConvertOptions::config.
  const char* when;     // "always", or which models need the setting.
};

// A public implementation whose checkpoints can be converted. The texts of type const char* are static.
struct DialectInfo {
  const char* name;     // The value for ConvertOptions::dialect.
  const char* summary;  // One line.
  const char* source;   // The repository of the implementation.
  std::string tensors;  // The names of tensors by which its checkpoints are recognised.
  std::vector<NeededSetting> needs;
};

// Returns all supported dialects, in the order in which they are tried.
std::vector<DialectInfo> supported_dialects();

// Returns a name from a file in a form that is safe on a terminal: control bytes and non-ASCII bytes become \xNN, and
// names of more than 160 bytes are cut.
std::string escaped(std::string_view name);
// Returns escaped(name) in double quotes.
std::string quote(std::string_view name);

}  // namespace linformer::convert
