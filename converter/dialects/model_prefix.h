// Finds a model in a checkpoint that has other tensors too, such as those of a teacher, of a loss or of metrics.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "converter/dialects/dialect.h"

namespace linformer::convert {

// The dialect that fits all tensors of a checkpoint whose Checkpoint::wrapper is set; null if none fits.
struct Fit {
  const Dialect* dialect = nullptr;
  Recognition recognition;
};
using FindFit = std::function<Fit(const Checkpoint&)>;

struct PrefixFit {
  std::string prefix;  // With a dot at the end, such as "net.core.".
  Fit fit;
};
// Returns the prefixes whose tensors alone fit a dialect, in alphabetical order. No returned prefix begins with another
// one. A prefix that ends in a number ("layers.0.") is not tried, because it is a part of a model. On return, the
// checkpoint is the same as before.
std::vector<PrefixFit> fitting_prefixes(Checkpoint& checkpoint, const FindFit& find);

// Removes all tensors whose names do not begin with the prefix, and lists them in the report. Throws Error if no name
// begins with the prefix.
void remove_tensors_outside_prefix(Checkpoint& checkpoint, const std::string& prefix, Report& report);

// The setting with which the user chooses the prefix of the model, with or without its last dot.
inline constexpr const char* prefix_setting = "tensor_prefix";

}  // namespace linformer::convert
