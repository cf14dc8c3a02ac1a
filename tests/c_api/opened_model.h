// A sentiment model that is written to a file and loaded by the C API.
#pragma once

#include <doctest/doctest.h>
#include <linformer.h>

#include "cli/sentiment_model.h"

namespace linformer_test {

struct OpenedModel : CliFixture {
  explicit OpenedModel(const SentimentModel& shape = {}) : CliFixture(shape) {
    REQUIRE(lnf_model_load(CliFixture::model().c_str(), nullptr, &model, &status) == LNF_OK);
  }
  ~OpenedModel() { lnf_model_free(model); }
  lnf_status status{};
  lnf_model* model = nullptr;
};

}  // namespace linformer_test
