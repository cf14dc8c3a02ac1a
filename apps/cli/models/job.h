// A record and the answer that a model gives to it. Commands derive their own kinds of jobs from it.
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

  nlohmann::json id;         // the record's own id, or its number
  OwnFields own;             // of the record, for its answer
  std::string excerpt;       // of the text, safe to print
  std::string error;         // not empty: there is no result, and why
  int64_t tokens = 0;        // that the model read
  int64_t total_tokens = 0;  // that the text has; more than `tokens` when it was cut
  int64_t windows = 1;       // that the text was read in
};

}  // namespace linformer::cli
