// Tests that the C API gives the same results as the C++ API.
#include <doctest/doctest.h>
#include <linformer.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/description.h"
#include "c_api/handles.h"
#include "c_api/ok.h"
#include "c_api/opened_model.h"
#include "linformer/build_info.h"
#include "linformer/classifier.h"
#include "linformer/embedder.h"
#include "pipeline/sentences.h"

namespace linformer_test::answers_test {
namespace {

using namespace linformer;

TEST_CASE("the library and a model report their versions and properties") {
  SentimentModel shape;
  shape.embedding = true;
  OpenedModel f(shape);
  lnf_status& status = f.status;
  char line[8];
  const size_t bytes = lnf_build_info(nullptr, 0);
  CHECK(bytes > 30);
  CHECK(lnf_build_info(line, sizeof line) == bytes);
  CHECK(std::string(line) == "linform");
  lnf_build build;
  build.size = sizeof build;
  OK(lnf_get_build(&build, &status));
  CHECK(build.version == lnf_version());
  CHECK(build.format == lnf_format_version());
  CHECK(build.isa == static_cast<int32_t>(build_info().isa));
  CHECK(build.has_onednn == build_info().has_onednn);
  CHECK(build.has_openblas == build_info().has_openblas);
  CHECK(build.has_cuda == build_info().has_cuda);
  char name[64];
  const auto same = [&](size_t bytes_of_name, std::string_view expected) {
    CHECK(bytes_of_name == expected.size() + 1);
    CHECK(std::string(name) == expected);
  };
  same(lnf_model_producer(f.model, name, sizeof name), f.model->model->info().producer);
  same(lnf_model_dialect(f.model, name, sizeof name), f.model->model->info().dialect);
  lnf_model_info info;
  info.size = sizeof info;
  OK(lnf_model_get_info(f.model, &info, &status));
  CHECK(info.max_tokens == 12);
  CHECK(info.vocabulary == 13);
  CHECK(info.heads == 2);
  CHECK(info.mask_id == 4);
  CHECK(info.tokenizer == LNF_TOKENIZER_WORDPIECE);
  CHECK(info.has_embedding == 1);
  lnf_head_info head;
  head.size = sizeof head;
  OK(lnf_model_get_head(f.model, 0, &head, &status));
  CHECK(head.classes == 3);
  CHECK(head.kind == LNF_SINGLE_LABEL);
  char label[4];
  CHECK(lnf_model_label(f.model, 0, 2, label, sizeof label) == 4);
  CHECK(std::string(label) == "pos");
  CHECK(lnf_model_label(f.model, 1, 0, label, sizeof label) == 1);
  CHECK(lnf_model_label(f.model, 0, 3, label, sizeof label) == 0);
  CHECK(lnf_model_head_name(f.model, 1, nullptr, 0) == sizeof "topic");
  CHECK(lnf_model_find_head(f.model, "topic") == 1);
  CHECK(lnf_model_find_head(f.model, "none") == -1);
  OK(lnf_model_verify(f.model, &status));
  for (int32_t tensor = 0; tensor < info.tensors; ++tensor) OK(lnf_model_verify_tensor(f.model, tensor, &status));
}

TEST_CASE("texts are encoded, and one call computes every output, as in C++") {
  SentimentModel shape;
  shape.embedding = true;
  OpenedModel f(shape);
  lnf_status& status = f.status;
  lnf_tokenizer* tokenizer = nullptr;
  lnf_encoding* encoding = nullptr;
  lnf_session* session = nullptr;
  OK(lnf_tokenizer_create(f.model, &tokenizer, &status));
  OK(lnf_encoding_create(&encoding, &status));
  CHECK(lnf_encoding_size(encoding) == 0);
  CHECK(lnf_encoding_ids(encoding) == nullptr);
  OK(lnf_encode(tokenizer, "a good film", 11, nullptr, 0, nullptr, encoding, &status));
  REQUIRE(lnf_encoding_size(encoding) == 5);
  const int32_t* ids = lnf_encoding_ids(encoding);
  CHECK(std::vector<int32_t>(ids, ids + 5) == std::vector<int32_t>{2, 8, 5, 7, 3});
  CHECK(lnf_encoding_offsets(encoding)[2 * 2] == 2);
  CHECK(lnf_encoding_total(encoding) == 5);
  char text[32];
  size_t bytes = 0;
  OK(lnf_decode(tokenizer, ids, 5, 1, text, sizeof text, &bytes, &status));
  CHECK(std::string(text) == "a good film");
  CHECK(bytes == 12);
  OK(lnf_decode(tokenizer, ids, 5, 1, nullptr, 0, &bytes, &status));
  CHECK(lnf_decode(tokenizer, ids, 5, 1, text, 11, &bytes, &status) == LNF_TOO_LONG);
  CHECK(bytes == 12);

  lnf_session_options options;
  lnf_session_options_init(&options);
  options.max_batch = 2;
  uint64_t arena = 0;
  OK(lnf_plan_bytes(f.model, &options, &arena, &status));
  CHECK(arena > 0);
  char sentence[400];
  OK(lnf_plan_precision(f.model, &options, sentence, sizeof sentence, &bytes, &status));
  CHECK(bytes == std::strlen(sentence) + 1);
  OK(lnf_session_create(f.model, &options, &session, &status));
  CHECK(std::string(lnf_session_precision(session)) == sentence);
  CHECK(std::string(sentence).find("Weights in f32 are multiplied in f32") == 0);
  OK(lnf_plan_precision(f.model, &options, nullptr, 0, &bytes, &status));
  CHECK(lnf_plan_precision(f.model, &options, sentence, bytes - 1, &bytes, &status) == LNF_TOO_LONG);
  CHECK(lnf_session_precision(nullptr) == nullptr);
  options.isa = LNF_ISA_SCALAR;
  options.attention_compute = LNF_ATTENTION_BF16;
  OK(lnf_plan_precision(f.model, &options, sentence, sizeof sentence, &bytes, &status));
  CHECK(std::string(sentence).find("attention is computed in bf16 (the options ask for it)") != std::string::npos);
  lnf_input inputs[2];
  for (lnf_input& input : inputs) {
    lnf_input_init(&input);
    input.ids = ids;
    input.count = 5;
  }
  const int32_t padded[] = {2, 0, 8, 5, 0, 7, 3};
  inputs[1].ids = padded;
  inputs[1].count = 7;
  const lnf_position positions[] = {{0, 2}, {1, 0}, {1, 4}};
  lnf_output outputs[7];
  for (int kind = LNF_HIDDEN; kind <= LNF_MASKED_LM; ++kind) lnf_output_init(&outputs[kind], kind);
  lnf_output_init(&outputs[6], LNF_HIDDEN);
  outputs[6].layer = 0;
  outputs[LNF_POOLED].pooling = LNF_POOL_MAX;
  outputs[LNF_MASKED_LM].positions = positions;
  outputs[LNF_MASKED_LM].position_count = 3;
  OK(lnf_shapes(session, inputs, 2, outputs, 7, &status));
  std::vector<std::vector<float>> values;
  for (lnf_output& output : outputs) {
    values.emplace_back(static_cast<size_t>(output.rows * output.columns) + 1, 7.f);
    output.data = values.back().data();
    output.capacity = values.back().size();
  }
  CHECK(outputs[LNF_HIDDEN].rows == 12);
  CHECK(outputs[LNF_MASKED_LM].columns == 13);
  OK(lnf_run(session, inputs, 2, outputs, 7, nullptr, &status));
  for (const std::vector<float>& v : values) CHECK(v.back() == 7.f);

  const auto model = *Model::load(f.CliFixture::model().c_str());
  SessionOptions own;
  own.memory.max_batch = 2;
  Session other = std::move(*Session::create(model, own));
  const std::vector<Tokens> texts = {{ids, 5}, padded};
  const auto same = [&](size_t i, Output output) {
    const Shape expected_shape = *other.shape(output, texts);
    CHECK(expected_shape.rows == outputs[i].rows);
    CHECK(expected_shape.columns == outputs[i].columns);
    std::vector<float> expected(static_cast<size_t>(expected_shape.floats()));
    output.values = expected;
    CHECK(other.run(texts, output).ok());
    values[i].pop_back();
    CHECK(values[i] == expected);
  };
  const MaskPosition places[] = {{0, 2}, {1, 0}, {1, 4}};
  same(LNF_HIDDEN, Output::hidden({}));
  same(LNF_POOLED, Output::pooled({}, Pooling::max));
  same(LNF_LOGITS, Output::logits({}));
  same(LNF_PROBABILITIES, Output::probabilities({}));
  same(LNF_EMBEDDINGS, Output::embeddings({}));
  same(LNF_MASKED_LM, Output::masked_lm({}, places));
  same(6, Output::hidden({}, 0));

  int64_t tokens[7];
  size_t rows = 0;
  OK(lnf_row_tokens(session, &inputs[1], tokens, 7, &rows, &status));
  CHECK(rows == 7);
  CHECK(std::vector<int64_t>(tokens, tokens + 7) == std::vector<int64_t>{0, 2, 3, 5, 6, -1, -1});
  CHECK(lnf_row_tokens(session, &inputs[1], tokens, 6, &rows, &status) == LNF_TOO_LONG);
  for (size_t row = 0; row < 5; ++row) {
    int64_t found = -1;
    OK(lnf_token_row(session, &inputs[1], static_cast<size_t>(tokens[row]), &found, &status));
    CHECK(found == static_cast<int64_t>(row));
  }
  int64_t found = -1;
  for (const size_t stripped : {size_t{1}, size_t{4}, size_t{7}, SIZE_MAX}) {
    CHECK(lnf_token_row(session, &inputs[1], stripped, &found, &status) == LNF_INVALID_ARGUMENT);
  }
  CHECK(found == -1);
  CHECK(lnf_session_classes(session, 0) == 3);
  CHECK(lnf_session_classes(session, 1) == 4);
  CHECK(lnf_session_classes(session, 2) == 0);
  CHECK(lnf_session_output_rows(session, 5) == 5);
  lnf_session_free(session);
  lnf_encoding_free(encoding);
  lnf_tokenizer_free(tokenizer);
}

TEST_CASE("a classifier and an embedder give the same results as in C++") {
  SentimentModel shape;
  shape.embedding = true;
  OpenedModel f(shape);
  lnf_status& status = f.status;
  const std::vector<std::string> sentences = random_sentences(600, 9, 6);
  std::vector<const char*> texts;
  for (const std::string& sentence : sentences) texts.push_back(sentence.c_str());
  lnf_text_options options;
  lnf_text_options_init(&options);
  options.threads = 2;
  lnf_classifier* classifier = nullptr;
  OK(lnf_classifier_create(f.model, nullptr, 0, &options, &classifier, &status));
  REQUIRE(lnf_classifier_classes(classifier, 0) == 3);
  std::vector<float> made(600 * 3), expected(600 * 3);
  OK(lnf_classify(classifier, texts.data(), nullptr, nullptr, nullptr, 600, made.data(), made.size(), nullptr,
                  &status));
  const auto model = *Model::load(f.CliFixture::model().c_str());
  CHECK(Classifier::create(model)->classify(views_of(sentences), expected).ok());
  CHECK(made == expected);
  // The texts have explicit lengths, and the visitor gets one report for each.
  const char* few[] = {"good film", "bad \xff\xfe", nullptr};
  const size_t bytes[] = {4, 5, 0};
  struct Seen {
    std::vector<lnf_code> codes;
    std::vector<int64_t> tokens;
    size_t stop;
  } seen{{}, {}, 3};
  const lnf_visit visit = [](void* user, const lnf_text_report* report) {
    Seen& s = *static_cast<Seen*>(user);
    CHECK(report->index == s.codes.size());
    CHECK((report->values != nullptr) == (report->code == LNF_OK));
    s.codes.push_back(report->code);
    s.tokens.push_back(report->tokens);
    return s.codes.size() < s.stop ? 1 : 0;
  };
  OK(lnf_classify_each(classifier, few, bytes, nullptr, nullptr, 3, visit, &seen, nullptr, &status));
  CHECK(seen.codes == std::vector<lnf_code>{LNF_OK, LNF_OK, LNF_OK});
  CHECK(seen.tokens == std::vector<int64_t>{3, 3, 2});  // Invalid UTF-8 makes no token.
  seen = {{}, {}, 1};
  OK(lnf_classify_each(classifier, few, bytes, nullptr, nullptr, 3, visit, &seen, nullptr, &status));
  CHECK(seen.codes.size() == 1);
  // A list of second texts without one of them is refused, and the message says which one is missing.
  CHECK(lnf_classify(classifier, texts.data(), nullptr, few, nullptr, 3, made.data(), made.size(), nullptr, &status) ==
        LNF_INVALID_ARGUMENT);
  CHECK(std::string(status.message) == "the second text of pair 2 is NULL");
  CHECK(lnf_classify(classifier, few, nullptr, nullptr, nullptr, 3, made.data(), made.size(), nullptr, &status) ==
        LNF_INVALID_ARGUMENT);
  CHECK(std::string(status.message) == "text 2 is NULL");
  lnf_classifier_free(classifier);
  // One call computes two heads.
  const int32_t heads[] = {1, 0};
  OK(lnf_classifier_create(f.model, heads, 2, &options, &classifier, &status));
  CHECK(lnf_classifier_classes(classifier, 0) == 4);
  CHECK(lnf_classifier_classes(classifier, 1) == 3);
  CHECK(lnf_classifier_classes(classifier, 2) == 0);
  struct Last {
    std::vector<float> values;
  } last;
  OK(lnf_classify_each(
      classifier, texts.data(), nullptr, nullptr, nullptr, 1,
      [](void* user, const lnf_text_report* report) {
        static_cast<Last*>(user)->values.assign(report->values, report->values + report->count);
        return 1;
      },
      &last, nullptr, &status));
  REQUIRE(last.values.size() == 14);
  CHECK(std::equal(last.values.begin() + 11, last.values.end(), expected.begin()));
  lnf_classifier_free(classifier);

  lnf_embedder* embedder = nullptr;
  OK(lnf_embedder_create(f.model, LNF_POOL_DEFAULT, -1, nullptr, &embedder, &status));
  const size_t width = static_cast<size_t>(lnf_embedder_width(embedder));
  CHECK(width == sentiment_width);
  made.resize(600 * width);
  expected.resize(600 * width);
  OK(lnf_embed(embedder, texts.data(), nullptr, 600, made.data(), made.size(), nullptr, &status));
  CHECK(Embedder::create(model)->embed(views_of(sentences), expected).ok());
  CHECK(made == expected);
  seen = {{}, {}, 3};
  OK(lnf_embed_each(embedder, few, bytes, 3, visit, &seen, nullptr, &status));
  CHECK(seen.codes.size() == 3);
  lnf_embedder_free(embedder);
}

// A struct to which a later version has added a field. The first version had no field `second`.
struct Grown {
  size_t size;
  int64_t first;
  int64_t second;  // Added by the later version.
};

}  // namespace
}  // namespace linformer_test::answers_test
template <>
inline constexpr size_t linformer::c_api::first_size<linformer_test::answers_test::Grown> = sizeof(size_t) +
                                                                                            sizeof(int64_t);
namespace linformer_test::answers_test {
namespace {

TEST_CASE("fields beyond an older caller's shorter struct are neither read nor written") {
  struct Caller {
    Grown options;
    uint32_t behind[4];
  } caller;
  const size_t shorter = sizeof(size_t) + sizeof(int64_t);
  std::memset(&caller, 0x55, sizeof caller);
  linformer::c_api::init_struct(&caller.options, shorter, Grown{0, 7, 8});
  CHECK(caller.options.size == shorter);
  CHECK(caller.options.first == 7);
  CHECK(caller.options.second == 0x5555555555555555);  // This field isn't part of the caller's struct.
  caller.options.first = 9;
  Grown read = {sizeof read, 7, 8};
  CHECK(linformer::c_api::read_struct(&caller.options, "grown", &read).ok());
  CHECK(read.first == 9);
  CHECK(read.second == 8);  // The default value.
  CHECK(linformer::c_api::write_struct(Grown{0, 1, 2}, "grown", &caller.options).ok());
  CHECK(caller.options.first == 1);
  CHECK(caller.options.second == 0x5555555555555555);
  // If a newer caller's struct is longer, the unknown fields are set to 0.
  const size_t longer = sizeof(Grown) + 8;
  linformer::c_api::init_struct(&caller.options, longer, Grown{0, 7, 8});
  CHECK(caller.options.size == longer);
  CHECK(caller.options.second == 8);
  CHECK(caller.behind[0] == 0);
  CHECK(caller.behind[1] == 0);
  CHECK(caller.behind[2] == 0x55555555);
  caller.options.size = shorter - 8;
  CHECK(linformer::c_api::read_struct(&caller.options, "grown", &read).code() == Code::invalid_argument);
}

TEST_CASE("models load from every kind of source, and the release callback is called exactly once") {
  OpenedModel f((SentimentModel()));
  lnf_status& status = f.status;
  std::vector<char> bytes;
  if (FILE* file = std::fopen(f.CliFixture::model().c_str(), "rb")) {
    char buffer[4096];
    for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) bytes.insert(bytes.end(), buffer, buffer + n);
    std::fclose(file);
  }
  REQUIRE(bytes.size() > 1000);
  int released = 0;
  const auto release = [](void* user) { ++*static_cast<int*>(user); };
  lnf_model* model = nullptr;
  bytes.insert(bytes.begin(), 'x');  // The model starts at an unaligned address.
  OK(lnf_model_load_memory(bytes.data() + 1, bytes.size() - 1, release, &released, nullptr, &model, &status));
  CHECK(released == 1);
  lnf_model_free(model);
  CHECK(released == 1);
  CHECK(lnf_model_load_memory(bytes.data(), bytes.size(), release, &released, nullptr, &model, &status) == LNF_CORRUPT);
  CHECK(released == 2);
  CHECK(model == nullptr);
  CHECK(lnf_model_load_memory(nullptr, 5, release, &released, nullptr, &model, &status) == LNF_INVALID_ARGUMENT);
  CHECK(released == 3);
  const auto read = [](void* user, void* to, uint64_t offset, size_t count) {
    const auto& from = *static_cast<std::vector<char>*>(user);
    if (offset + count > from.size() - 1) return 0;
    std::memcpy(to, from.data() + 1 + offset, count);
    return 1;
  };
  OK(lnf_model_load_read(read, &bytes, bytes.size() - 1, nullptr, &model, &status));
  lnf_model_free(model);
  CHECK(lnf_model_load_read(read, &bytes, bytes.size() + 1, nullptr, &model, &status) == LNF_IO);
  CHECK(lnf_model_load_fd(-1, 0, 0, nullptr, &model, &status) == LNF_IO);
  CHECK(lnf_model_load("absent.lnfr", nullptr, &model, &status) == LNF_IO);
  CHECK(std::string(status.message).find("absent.lnfr") != std::string::npos);
}

}  // namespace
}  // namespace linformer_test::answers_test
