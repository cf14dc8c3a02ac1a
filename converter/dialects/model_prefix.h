// A model among other tensors: a student beside its teacher, the weights of a loss, what metrics keep.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "converter/dialects/dialect.h"

namespace linformer::convert {

// The dialect that fits all of a checkpoint's tensors with its wrapper; null: none.
struct Fit {
  const Dialect* dialect = nullptr;
  Recognition recognition;
};
using FindFit = std::function<Fit(const Checkpoint&)>;

struct PrefixFit {
  std::string prefix;  // ends in a dot: "net.core."
  Fit fit;
};
// The prefixes whose tensors alone fit, in alphabetical order; none lies below another. What is below a number
// ("layers.0.") is a part of a model and not looked at. The checkpoint is as before in the end.
std::vector<PrefixFit> fitting_prefixes(Checkpoint& checkpoint, const FindFit& find);

// Leaves out all tensors but those below the prefix; the report lists the others. Throws Error where there are none.
void keep_prefix(Checkpoint& checkpoint, const std::string& prefix, Report& report);

// The setting that says which: a prefix, with its last dot or without.
inline constexpr const char* prefix_setting = "tensor_prefix";

}  // namespace linformer::convert
