#include "converter/dialects/fairseq.h"
#include "converter/dialects/fairseq_hf.h"
#include "converter/dialects/hugging_face.h"
#include "converter/dialects/lucidrains.h"
#include "converter/dialects/nystromformer.h"
#include "converter/dialects/pytext.h"
#include "converter/dialects/tatp22.h"
#include "converter/dialects/tensor_table.h"
#include "converter/dialects/vit_linformer.h"
#include "converter/dialects/xformers.h"
#include "converter/readers/error.h"
#include "converter/readers/exported_keys.h"

namespace linformer::convert {

std::span<const Dialect* const> dialects() {
  static const Fairseq fairseq;
  static const HuggingFace hugging_face;
  static const FairseqHf fairseq_hf;
  static const Lucidrains lucidrains;
  static const Pytext pytext;
  static const VitLinformer vit_linformer;
  static const Xformers xformers;
  static const Nystromformer nystromformer;
  static const Tatp22 tatp22;
  static const Dialect* const all[] = {&fairseq,  &fairseq_hf,   &lucidrains,    &pytext, &vit_linformer,
                                       &xformers, &hugging_face, &nystromformer, &tatp22};
  return all;
}

const Dialect* find_dialect(std::string_view name) {
  for (const Dialect* dialect : dialects()) {
    if (name == dialect->name()) return dialect;
  }
  return nullptr;
}

std::string unknown_dialect(std::string_view name) {
  std::string names;
  for (const Dialect* known : dialects()) names += (names.empty() ? "" : ", ") + std::string(known->name());
  return "there is no dialect " + quote(name) + ": --dialect takes " + names;
}

namespace {

const Dialect& chosen(const Dialect& dialect, const std::string& reason, Report& report) {
  report.dialect = dialect.name();
  report.recognised_by = reason;
  return dialect;
}

const Dialect& recognise_as(const Checkpoint& checkpoint, const std::string& wanted, Report& report) {
  const Dialect* dialect = find_dialect(wanted);
  if (dialect == nullptr) fail(unknown_dialect(wanted));
  const Recognition recognition = dialect->recognise(checkpoint);
  if (recognition.score == 0) {
    fail(checkpoint.name, ": the tensors are not those of the dialect ", dialect->name(), ". Looked for ",
         recognition.reason);
  }
  return chosen(*dialect, recognition.reason + ", and --dialect", report);
}

}  // namespace

const Dialect& recognise(const Checkpoint& checkpoint, const std::string& wanted, Report& report) {
  if (!wanted.empty()) return recognise_as(checkpoint, wanted, report);
  for (const auto& [key, text] : checkpoint.metadata) {
    const Dialect* dialect = key == exported_dialect_key ? find_dialect(text) : nullptr;
    if (dialect == nullptr) continue;
    const Recognition recognition = dialect->recognise(checkpoint);
    if (recognition.score > 0) return chosen(*dialect, recognition.reason + ", and its own metadata", report);
  }
  const Dialect* best = nullptr;
  Recognition best_recognition;
  std::string refusals;
  for (const Dialect* dialect : dialects()) {
    checkpoint.budget().charge_steps(checkpoint.tensors.size());
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
  return chosen(*best, best_recognition.reason, report);
}

}  // namespace linformer::convert
