#include "converter/dialects/fairseq.h"
#include "converter/dialects/tensor_table.h"
#include "converter/readers/error.h"

namespace linformer::convert {

std::span<const Dialect* const> dialects() {
  static const Fairseq fairseq;
  static const Dialect* const all[] = {&fairseq};
  return all;
}

const Dialect& recognise(const Checkpoint& checkpoint, Report& report) {
  const Dialect* best = nullptr;
  Recognition best_recognition;
  std::string refusals;
  for (const Dialect* dialect : dialects()) {
    Recognition recognition = dialect->recognise(checkpoint);
    refusals += std::string("\n  ") + dialect->name() + ": " + recognition.reason;
    if (recognition.score > best_recognition.score) {
      best = dialect;
      best_recognition = std::move(recognition);
    }
  }
  if (best == nullptr) {
    std::vector<std::string> names;
    for (const Tensor& tensor : checkpoint.tensors) names.push_back(tensor.name);
    fail(checkpoint.name,
         ": no supported implementation has tensors of these names: ", names.empty() ? "(none)" : list_names(names, 6),
         ". Looked for:", refusals);
  }
  report.dialect = best->name();
  report.recognised_by = best_recognition.reason;
  return *best;
}

}  // namespace linformer::convert
