// Options that set how a model is executed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "linformer/session.h"
#include "linformer/text_input.h"

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::cli {

// The options --compute and --attention-compute, which choose the types that products and attention are computed in.
struct PrecisionFlags {
  std::string compute = "automatic", attention_compute = "automatic";

  void add_to(CLI::App* command);
  // Sets the precision of `options`, whose backend and device must be set already. Throws UsageError if that backend
  // can't compute in the chosen type, or if a type of attention is chosen for a GPU.
  void apply_to(SessionOptions* options) const;
};

// The options that choose threads, batches, the backend and the handling of long and padded texts.
struct RunFlags {
  int threads = 0;  // If 0, one for each processor that this process may use.
  int64_t batch = 16;
  int64_t max_tokens = 0;  // If 0, the model's own limit.
  int64_t pad_to = 0;
  std::string backend = "native", isa = "automatic", device = "cpu", padding = "strip";
  PrecisionFlags precision;
  bool profile = false;

  void add_to(CLI::App* command);
  // Adds --profile, for commands that call report_profile() at their end. `json` is true if the command has --json.
  void add_profile_to(CLI::App* command, bool json);
  // Returns these flags as the library's options. Throws UsageError for a device or type that is unknown or impossible.
  // Other values are checked by the library.
  TextOptions text_options() const;
  // Returns the options of a session for texts of up to `longest` tokens, including pads that are kept. If `longest` is
  // 0, texts may be as long as the model and --max-tokens allow. Throws UsageError if --pad-to does not fit the model.
  SessionOptions session_options(const Model& model, int64_t longest) const;
  // Appends pad ids to `ids` until it has `pad_to` ids.
  void pad(const Model& model, std::vector<int32_t>* ids) const;
};

// Add the options --device and --isa, whose values parse_device_number() and parse_isa() read.
void add_device_option(CLI::App* command, std::string* device);
void add_isa_option(CLI::App* command, std::string* isa);
// Adds the option --no-mmap.
void add_no_mmap_flag(CLI::App* command);

}  // namespace linformer::cli
