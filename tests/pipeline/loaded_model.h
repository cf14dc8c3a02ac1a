// A sentiment model that is written to a file and loaded.
#pragma once

#include <memory>

#include "cli/sentiment_model.h"
#include "linformer/model.h"

namespace linformer_test {

struct LoadedModel : CliFixture {
  explicit LoadedModel(const SentimentModel& shape = {})
      : CliFixture(shape), model(*linformer::Model::load(this->CliFixture::model().c_str())) {}
  std::shared_ptr<const linformer::Model> model;
};

}  // namespace linformer_test
