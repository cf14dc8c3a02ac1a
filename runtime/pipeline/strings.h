// Plain strings to an array with a row for each.
#pragma once

#include <algorithm>

#include "pipeline/runner.h"

namespace LINFORMER_NAMESPACE {

// row(report, values) is what of a text's values goes to its row of `to`. The first text without an answer is the
// error.
template <class Row>
Status run_strings(TextRunner& runner, std::span<const std::string_view> texts, std::span<float> to, size_t width,
                   const char* what, Row&& row, const RunControl& control) {
  if (to.size() / std::max<size_t>(width, 1) < texts.size()) {
    return Status::error(Code::invalid_argument, "there is room for %zu %s where %zu texts have %zu each", to.size(),
                         what, texts.size(), width);
  }
  // So many that every thread has work; their views are all that is copied.
  Array<TextInput> inputs;
  Status failed;
  for (size_t begin = 0; begin < texts.size() && failed.ok();) {
    const size_t count = std::min(texts.size() - begin, runner.texts_at_once());
    if (!inputs.try_resize(count)) return Status::error(Code::out_of_memory, "no memory for a batch of texts");
    for (size_t i = 0; i < count; ++i) inputs[i] = TextInput{texts[begin + i], {}, {}};
    RunControl part = control;
    part.progress = nullptr;
    LINFORMER_TRY(runner.run(
        inputs.span(),
        [&](size_t index, const TextReport& report, std::span<const float> values) {
          if (!report.status.ok()) {
            failed = Status::error(report.status.code(), "text %zu: %s", begin + index, report.status.message());
            return false;
          }
          const std::span<const float> kept = row(report, values);
          std::copy(kept.begin(), kept.end(), to.begin() + static_cast<std::ptrdiff_t>((begin + index) * width));
          return true;
        },
        part));
    begin += count;
    if (control.progress != nullptr) {
      control.progress(control.context, static_cast<double>(begin) / static_cast<double>(texts.size()));
    }
  }
  return failed;
}

}  // namespace LINFORMER_NAMESPACE
