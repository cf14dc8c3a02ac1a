// Options that set how a text becomes a vector.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "commands/flags/run_flags.h"
#include "commands/flags/text_flags.h"
#include "linformer/embedder.h"

// CLI::App is declared here because including <CLI/CLI.hpp> would take seconds in every file that includes this one.
namespace CLI {
class App;
}

namespace linformer::cli {

struct VectorFlags {
  std::string pooling;
  bool normalize = false, no_normalize = false;
  int64_t dimensions = 0;
  std::optional<std::string> prompt;

  void add_to(CLI::App* command);
  // Returns whether any of these options was given.
  bool any() const { return !pooling.empty() || normalize || no_normalize || dimensions > 0 || prompt; }
  // Throws UsageError if options exclude each other.
  void check() const;
  // Creates the embedder of a model that was loaded from `path`. If `longer` is null, texts that are too long are cut.
  // Throws UsageError if the model requires or excludes an option, and DataError if it makes no vectors from texts.
  Embedder make_embedder(const std::shared_ptr<const Model>& model, const std::string& path, const RunFlags& run,
                         const TokenFlags& tokens, const LongFlags* longer) const;

 private:
  EmbedderOptions options_for(const Model& model) const;
};

}  // namespace linformer::cli
