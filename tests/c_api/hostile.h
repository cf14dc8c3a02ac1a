// A model, handles that use it and the arguments of a valid call. The tests change one argument and expect an error.
#pragma once

#include <doctest/doctest.h>
#include <linformer.h>

#include <cstring>

#include "cli/sentiment_model.h"

namespace linformer_test {

inline int refusals = 0;

struct Hostile : CliFixture {
  static SentimentModel shape() {
    SentimentModel made;
    made.embedding = true;
    made.more_heads = true;
    return made;
  }
  Hostile() : CliFixture(shape()) {
    REQUIRE(lnf_model_load(CliFixture::model().c_str(), nullptr, &model, nullptr) == LNF_OK);
    REQUIRE(lnf_tokenizer_create(model, &tokenizer, nullptr) == LNF_OK);
    REQUIRE(lnf_encoding_create(&encoding, nullptr) == LNF_OK);
    REQUIRE(lnf_session_create(model, nullptr, &session, nullptr) == LNF_OK);
    REQUIRE(lnf_classifier_create(model, nullptr, 0, nullptr, &classifier, nullptr) == LNF_OK);
    REQUIRE(lnf_embedder_create(model, LNF_POOL_DEFAULT, -1, nullptr, &embedder, nullptr) == LNF_OK);
    lnf_input_init(&input);
    input.ids = ids;
    input.count = 3;
    lnf_output_init(&output, LNF_LOGITS);
    output.data = floats;
    output.capacity = 3;
  }
  ~Hostile() {
    lnf_embedder_free(embedder);
    lnf_classifier_free(classifier);
    lnf_session_free(session);
    lnf_encoding_free(encoding);
    lnf_tokenizer_free(tokenizer);
    lnf_model_free(model);
  }
  // Checks that the call returns this code and writes a message into the status, that it returns the same code if the
  // caller passes no status, and that it writes no output.
  template <class Call>
  void refused(Call&& call, lnf_code code = LNF_INVALID_ARGUMENT) {
    lnf_status status = {LNF_OK, {}};
    std::memset(status.message, 'x', sizeof status.message);
    CHECK(call(&status) == code);
    CHECK_MESSAGE(status.code == code, status.message);
    CHECK(std::memchr(status.message, 0, sizeof status.message) != nullptr);
    CHECK(std::strlen(status.message) > 10);
    CHECK(call(nullptr) == code);
    for (const float value : floats) CHECK(value == 7.f);
    ++refusals;
  }
  template <class Change>
  void refused_input(Change&& change, lnf_code code = LNF_INVALID_ARGUMENT) {
    const lnf_input kept = input;
    change(&input);
    refused([&](lnf_status* status) { return lnf_run(session, &input, 1, &output, 1, nullptr, status); }, code);
    input = kept;
  }
  template <class Change>
  void refused_output(Change&& change, lnf_code code = LNF_INVALID_ARGUMENT) {
    const lnf_output kept = output;
    change(&output);
    refused([&](lnf_status* status) { return lnf_run(session, &input, 1, &output, 1, nullptr, status); }, code);
    output = kept;
  }

  lnf_model* model = nullptr;
  lnf_tokenizer* tokenizer = nullptr;
  lnf_encoding* encoding = nullptr;
  lnf_session* session = nullptr;
  lnf_classifier* classifier = nullptr;
  lnf_embedder* embedder = nullptr;
  int32_t ids[3] = {2, 5, 3};
  float floats[4] = {7, 7, 7, 7};
  lnf_input input;
  lnf_output output;
};

}  // namespace linformer_test
