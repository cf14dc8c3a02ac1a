// Options that several subcommands share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/description.h"
#include "linformer/text_input.h"
#include "records.h"

// Not <CLI/CLI.hpp>, which takes seconds to compile.
namespace CLI {
class App;
}

namespace linformer::cli {

// The options --compute and --attention-compute, which choose the types that products and attention are computed in.
struct PrecisionFlags {
  std::string compute = "automatic", attention_compute = "automatic";

  void add_to(CLI::App* command);
  // Sets the precision of `options`, whose backend and device must be set already. Throws UsageError where that backend
  // or device can't compute in the chosen type.
  void apply_to(SessionOptions* options) const;
};

// How to run a model.
struct RunFlags {
  int threads = 0;  // 0: one for each processor that this process may use
  int64_t batch = 16;
  int64_t max_tokens = 0;  // 0: the model's own limit
  int64_t pad_to = 0;
  std::string backend = "native", isa = "automatic", device = "cpu", padding = "strip";
  PrecisionFlags precision;
  bool profile = false;

  void add_to(CLI::App* command);
  // For commands that call report_profile() at their end; `json`: they have --json.
  void add_profile_to(CLI::App* command, bool json);
  // The session to create for texts of up to `longest` tokens (pads included where they are kept); 0 = the model's
  // limit. Throws UsageError when a flag does not fit the model.
  SessionOptions session_options(const Model& model, int64_t longest) const;
  // `ids` lengthened with pads to pad_to.
  void pad(const Model& model, std::vector<int32_t>* ids) const;
};

// Where texts come from.
struct InputFlags {
  std::vector<std::string> texts;       // given on the command line; "-" = standard input where `dash`
  std::vector<std::string> pair_texts;  // the second text of each
  std::vector<std::string> inputs;      // files, "-" = standard input
  bool dash = false;
  std::string format = "auto";
  std::string field = "text", pair, id, delimiter;
  uint64_t max_line_bytes = uint64_t{64} << 20;
  bool no_header = false;

  // `argument_texts`: the command takes texts as arguments too.
  void add_to(CLI::App* command, bool argument_texts = true);
  bool empty() const { return texts.empty() && inputs.empty(); }
  // `more` and the files that are read; "-" = standard input.
  std::vector<std::string> paths(std::vector<std::string> more) const;
  Format format_of(const std::string& path) const;
  // Whether `path` is read as text lines because nobody said how.
  bool guessed_text(const std::string& path) const { return format == "auto" && format_of(path) == Format::text; }
  RecordLimits limits() const;
  // The fields to read. Throws UsageError where one is named although a format has none.
  RecordFields fields(const std::string& label) const;
};

// The text's tokens.
struct TokenFlags {
  std::string side = "head";
  bool literal_special = false;

  void add_to(CLI::App* command);
  EncodeOptions options() const;
};

// longest_first, only_first, only_second or none.
Truncation parse_truncation(const std::string& name);

// Texts with more tokens than the model takes.
struct LongFlags {
  std::string on_long = "truncate", truncation = "longest_first";
  int64_t overlap = -1;

  // `windows`: what becomes of them.
  void add_to(CLI::App* command, const std::string& windows);
  OnLong value() const;
  // Which text of a pair is cut or read by windows.
  Truncation pair_truncation() const;
};

// Adds the option --no-mmap.
void add_access_flag(CLI::App* command);
// Whether models are mapped or read, as --no-mmap says.
Access model_access();
// Loads a model as model_access() says. If its file is mapped and another process truncates it, this process ends with
// an error message (input_files/lost_file.h).
std::shared_ptr<const Model> load_model(const std::string& path);
// The tokenizer inside `model`. Throws DataError when it has none, or when the model doesn't read text.
Tokenizer load_tokenizer(const Model& model, const std::string& path);
void require_tokenizer(const Model& model, const std::string& path);
// Throw DataError when the model reads the other kind of input.
void require_tokens(const Model& model, const std::string& path);
void require_vectors(const Model& model, const std::string& path);
void require_masked_lm(const Model& model, const std::string& path);
// Rows that the encoder makes of `tokens` tokens or vectors, what it puts before them included.
int64_t encoder_rows(const Model& model, int64_t tokens);
// The head called `name`, or with that index; the first one for "".
int find_head(const Model& model, const std::string& name);
// The same for names with commas between them.
std::vector<int> find_heads(const Model& model, const std::string& names);
const ClassificationHead& head_of(const Model& model, int head);
// Names of a head's classes; indices where the model has no names.
std::vector<std::string> class_labels(const Model& model, int head);
// The same, but `score` or `value` for a head that gives one number without a name.
std::vector<std::string> output_names(const Model& model, int head);

// Values of the options above.
BackendKind parse_backend(const std::string& name);
Isa parse_isa(const std::string& name);
// "cpu" is -1, "cuda" is 0, "cuda:N" is N: SessionOptions::device. Throws UsageError.
int parse_device(const std::string& name);
std::string device_name(int device);

}  // namespace linformer::cli
