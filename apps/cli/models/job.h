// A record and the answer that a model gives to it. Commands derive their own types from this type.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "models/own_fields.h"

namespace linformer::cli {

struct Job {
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;
  bool truncated() const { return tokens < total_tokens; }
  std::string id_text() const { return id.is_string() ? id.get_ref<const std::string&>() : id.dump(); }

  nlohmann::json id;         // The record's own id, or its number.
  OwnFields own;             // The fields of the record that its answer repeats.
  std::string excerpt;       // The beginning of the text, safe to print on a terminal.
  std::string error;         // If not empty, there is no result, and this says why.
  int64_t tokens = 0;        // The number of tokens that the model read.
  int64_t total_tokens = 0;  // The number of tokens of the whole text. It is more than `tokens` if the text was cut.
  int64_t windows = 1;       // The number of windows in which the text was read.
};

}  // namespace linformer::cli
