// The converter: from a trained checkpoint to a model file, and back. It prints nothing, handles no signal and knows no
// program.
//
//   linformer::convert::ConvertOptions options;
//   options.checkpoint = "checkpoint_best.pt";
//   options.output = "sentiment.lnfr";
//   options.tokenizer = "vocabulary/";
//   const linformer::convert::Report report = linformer::convert::convert_checkpoint(options);
//
// Unlike the runtime, the converter throws: Error, with one sentence for the person, or std::bad_alloc. It may be
// called from any thread, and from several at once for different outputs. Everything in a checkpoint is validated
// before it is used, and nothing in it is ever executed.
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

// What is wrong with an input, a setting or the output. what() is one sentence that names the thing and the next step.
// It calls the fields of ConvertOptions as Control::option_name says. Names from files are escaped in it.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& sentence, Code code = Code::invalid_argument)
      : std::runtime_error(sentence), code_(code) {}
  // invalid_argument: an input or a setting can't be converted; unsupported: no model file can hold what it says, such
  // as a weight beyond the range of its type; io_error: the output can't be written; cancelled: the caller's flag said
  // so.
  Code code() const { return code_; }

 private:
  Code code_;
};

// Called with the phase ("reading", "writing") and the share of it that is done, 0 to 1, in the thread that converts.
// Whatever it throws ends the conversion as an error does.
using Progress = std::function<void(const char* phase, double done)>;

// Called with the bytes and the path of each file that is mapped, in the thread that maps it. What it returns is
// destroyed before the file is unmapped. If another process truncates a mapped file, reading it raises SIGBUS: a
// program that handles that learns here which pages belong to which file.
using GuardMapping = std::function<std::shared_ptr<void>(std::span<const std::byte> bytes, const std::string& path)>;

// Fields of ConvertOptions and ExportOptions that a sentence may name.
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
  supported_dialects,  // no field: how the caller's users see that list
};

// Returns how the caller's users know an option, with the value that they may give it where `value` isn't empty: for a
// program "--config" and "--config '{...}'". Called in the thread that converts.
using OptionName = std::function<std::string(Option option, const std::string& value)>;

// How a conversion runs, whichever way it goes.
struct Control {
  Access access = Access::map;                // whether checkpoints and models are mapped or read
  GuardMapping guard_mapping;                 // may be empty
  Progress progress;                          // may be empty
  OptionName option_name;                     // what errors and the report call options; empty: by their fields
  const std::atomic<bool>* cancel = nullptr;  // true: the conversion ends with Code::cancelled after the tensor at hand
  // Bytes of memory that reading a checkpoint's file may take, beside the file itself and its tensors' values; 0: no
  // limit but the one that every file has, in proportion to its bytes (converter/README.md). A file that asks for more
  // is an Error. Vocabularies and settings have the latter limit alone.
  uint64_t max_memory = 0;
};

// Weights that are of another type than the others: those whose names in the checkpoint fit the pattern (*, ? and
// [...], as a shell's).
struct KeptWeights {
  ElementType type;
  std::string pattern;
};

struct ConvertOptions {
  std::string checkpoint;               // a file, the index of several, or a folder with a checkpoint of a usual name
  std::string output;                   // the .lnfr file; "-" is standard output
  std::string tokenizer;                // a file or folder; empty: that of the checkpoint's folder, if it was a folder
  std::vector<std::string> labels;      // "a,b" or a file, also after "HEAD="; empty: labels.txt beside the tokenizer
  std::vector<std::string> head_kinds;  // "KIND" or "HEAD=KIND": single_label, multi_label, score or regression
  // A JSON file with settings, or the JSON itself, which begins with a brace; empty: config.json of the checkpoint's
  // folder.
  std::string config;
  std::string dialect;  // the only one to try; empty: the one that fits
  // Of Linear weights, embedding tables and projections, which are bf16 where the others are int8. All else stays f32.
  ElementType weight_type = ElementType::f32;
  std::vector<KeptWeights> keep;  // the first that fits a weight's name says its type
  bool replace_any = false;       // replace an existing output that is no model file
  Control control;
};

// What the user's settings say and no step of the conversion asked for.
struct UnusedSetting {
  std::string name, source;
  std::string did_you_mean;  // a name like it that was asked for and not given; empty: there is none
};

// What a conversion did. Names of tensors and settings are as the files have them: escaped() makes them printable.
struct Report {
  struct Fact {
    std::string name, value;
    std::string source;  // where the value was read or what it was inferred from
  };
  struct Mapping {
    std::string role;    // what the model file calls it, such as layers[0].attention.query.weight
    std::string tensor;  // the checkpoint's name
    std::string shape;   // "[32, 32] f16"
    std::string note;    // "same values as ...", or empty
  };
  struct Omission {
    std::string tensor, reason;
  };

  std::string checkpoint, format, dialect, recognised_by;
  std::vector<Fact> facts;
  std::vector<Mapping> mapped;
  std::vector<Omission> left_out;
  std::vector<std::string> notes;  // assumptions and other things worth knowing
  // Assumptions with which the model may answer otherwise than the user expects. They are worth showing even where the
  // report is not.
  std::vector<std::string> cautions;
  std::vector<UnusedSetting> unused_settings;
  std::string output;
  uint64_t output_bytes = 0;
  std::string weight_type;  // ConvertOptions::weight_type by its name

  // What types narrower than f32 cost and save.
  struct Rounded {
    std::string tensor, type;
    double error = 0;  // |original - stored| / |original|
  };
  std::vector<Rounded> rounded;
  double rounding_error = 0;  // of all of them, as one vector
  uint64_t bytes_in_f32 = 0;  // of the output, were all its weights f32

  void add_fact(std::string name, std::string value, std::string source) {
    facts.push_back({std::move(name), std::move(value), std::move(source)});
  }
};

// Converts a checkpoint. The output appears under its name complete or not at all: after an Error it is as it was
// before. Equal inputs and options give equal bytes. Weights are read in pieces, so that memory does not grow with
// them.
Report convert_checkpoint(const ConvertOptions& options);

// The tokenizer of a file or folder as ConvertOptions::tokenizer takes them, without a model: its ids are the files'
// own. The tokenizer owns all that was read. Throws Error if the files can't be read, or if a model file could not hold
// what they describe.
Tokenizer read_tokenizer(const std::string& path);

struct ExportOptions {
  std::string model;         // a .lnfr file
  std::string output;        // the safetensors file; "-" is standard output
  bool replace_any = false;  // replace an existing output that is no safetensors file
  Control control;           // max_memory does not count here: it is one tensor at a time
};

struct ExportReport {
  struct Row {
    std::string tensor;
    std::string shape;  // "[32, 32] f16"
    std::string from;   // the tensors of the model file
    std::string note;   // what the file lacks, or empty
  };

  std::string model, dialect;
  std::vector<Report::Fact> facts;
  std::vector<Row> rows;
  std::vector<std::string> notes;
  std::string output;
  uint64_t output_bytes = 0;
};

// The way back: from a model file to a checkpoint in safetensors, with the names and values that it was made from. The
// output appears complete or not at all.
ExportReport export_checkpoint(const ExportOptions& options);

// A setting that tensors do not show.
struct NeededSetting {
  const char* example;  // JSON for ConvertOptions::config
  const char* when;     // "always", or the models that need it
};

// A public implementation whose checkpoints can be converted. Texts live as long as the process.
struct DialectInfo {
  const char* name;     // for ConvertOptions::dialect
  const char* summary;  // one line
  const char* source;   // the repository
  std::string tensors;  // the names that its checkpoints are recognised by
  std::vector<NeededSetting> needs;
};

// All of them, in the order in which they are tried.
std::vector<DialectInfo> supported_dialects();

// A name from a file, fit for a terminal: control and non-ASCII bytes as \xNN, long names cut; quote() in quotes.
std::string escaped(std::string_view name);
std::string quote(std::string_view name);

}  // namespace linformer::convert
