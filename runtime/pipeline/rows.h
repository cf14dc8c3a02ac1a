// Runs texts and writes their values to the rows of an array.
#pragma once

#include <algorithm>

#include "linformer/text_runner.h"

namespace LINFORMER_NAMESPACE {

// Runs `texts` and writes a row of `width` floats for each text to `to`. row(report, values) returns the part of a
// text's values that is written. `what` names the floats in an error. If a text has an error, the run stops and that
// error is returned.
template <class Row>
Status run_to_rows(TextRunner& runner, const TextList& texts, std::span<float> to, size_t width, const char* what,
                   Row&& row, const RunControl& control) {
  if (to.size() / std::max<size_t>(width, 1) < texts.size()) {
    return Status::error(Code::too_long, "the output has room for %zu %s, but %zu texts need %zu each", to.size(), what,
                         texts.size(), width);
  }
  Status failed;
  LINFORMER_TRY(runner.run(
      texts,
      [&](size_t index, const TextReport& report, std::span<const float> values) {
        if (!report.status.ok()) {
          failed = Status::error(report.status.code(), "text %zu: %s", index, report.status.message());
          return false;
        }
        const std::span<const float> kept = row(report, values);
        std::copy(kept.begin(), kept.end(), to.begin() + static_cast<std::ptrdiff_t>(index * width));
        return true;
      },
      control));
  return failed;
}

}  // namespace LINFORMER_NAMESPACE
