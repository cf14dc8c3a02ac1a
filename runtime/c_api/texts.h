// How the C API reads its arguments about texts, and how it reports about each text.
#pragma once

#include <string_view>

#include "c_api/handles.h"

namespace LINFORMER_NAMESPACE::c_api {

Status read_text_options(const lnf_text_options* options, TextOptions* to);
// Returns an error if the model reads vectors, because the functions that take texts can't run it.
Status check_reads_text(const Model& model);
lnf_text_report report_of(size_t index, const TextReport& report, std::span<const float> values);

// The caller's arrays of texts.
struct TextArguments {
  const char* const* texts;
  const size_t* bytes;
  const char* const* pairs;
  const size_t* pair_bytes;
  size_t count;

  static std::string_view at(const char* const* texts, const size_t* bytes, size_t i) {
    return {texts[i], bytes != nullptr ? bytes[i] : std::strlen(texts[i])};
  }
  Status check() const {
    if (texts == nullptr && count > 0) return missing("the list of texts");
    for (size_t i = 0; i < count; ++i) {
      for (const auto& [list, sizes] : {std::pair(texts, bytes), std::pair(pairs, pair_bytes)}) {
        if (list == nullptr || list[i] != nullptr || (sizes != nullptr && sizes[i] == 0)) continue;
        return Status::error(Code::invalid_argument,
                             list == pairs ? "the second text of pair %zu is NULL" : "text %zu is NULL", i);
      }
    }
    return {};
  }
  TextList list() const {
    return {count,
            [](const void* context, size_t i) {
              const TextArguments& a = *static_cast<const TextArguments*>(context);
              TextInput input;
              input.text = at(a.texts, a.bytes, i);
              if (a.pairs != nullptr) input.pair = at(a.pairs, a.pair_bytes, i);
              return input;
            },
            this};
  }
};

}  // namespace LINFORMER_NAMESPACE::c_api
