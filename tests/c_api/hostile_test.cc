// Passes invalid arguments. Each call must return an error with a message and write nothing.
#include "c_api/hostile.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace linformer_test::hostile_test {
namespace {

TEST_CASE("null handles, null pointers and invalid indices are refused") {
  Hostile f;
  lnf_model* model = nullptr;
  lnf_tokenizer* tokenizer = nullptr;
  lnf_session* session = nullptr;
  lnf_classifier* classifier = nullptr;
  lnf_embedder* embedder = nullptr;
  uint64_t bytes = 1;
  size_t count = 0;
  char text[4];
  const char* texts[] = {"good"};
  const lnf_visit visit = [](void*, const lnf_text_report*) { return 1; };
  lnf_model_info info;
  info.size = sizeof info;
  lnf_head_info head;
  head.size = sizeof head;
  f.refused([&](lnf_status* s) { return lnf_model_load(nullptr, nullptr, &model, s); });
  f.refused([&](lnf_status* s) { return lnf_model_load("x", nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_model_load_memory(nullptr, 1, nullptr, nullptr, nullptr, &model, s); });
  f.refused([&](lnf_status* s) { return lnf_model_load_memory("x", 1, nullptr, nullptr, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_model_load_fd(0, 0, 0, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_model_load_read(nullptr, nullptr, 1, nullptr, &model, s); });
  f.refused([&](lnf_status* s) { return lnf_model_verify(nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_model_verify_tensor(nullptr, 0, s); });
  f.refused([&](lnf_status* s) { return lnf_model_verify_tensor(f.model, -1, s); });
  f.refused([&](lnf_status* s) { return lnf_model_verify_tensor(f.model, 1 << 20, s); });
  f.refused([&](lnf_status* s) { return lnf_model_get_info(nullptr, &info, s); });
  f.refused([&](lnf_status* s) { return lnf_model_get_info(f.model, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_model_get_head(nullptr, 0, &head, s); });
  f.refused([&](lnf_status* s) { return lnf_model_get_head(f.model, 0, nullptr, s); });
  for (const int32_t index : {-1, 99, INT32_MIN, INT32_MAX}) {
    f.refused([&](lnf_status* s) { return lnf_model_get_head(f.model, index, &head, s); });
    f.refused([&](lnf_status* s) { return lnf_classifier_create(f.model, &index, 1, nullptr, &classifier, s); });
    CHECK(lnf_model_head_name(f.model, index, text, 4) == 0);
    CHECK(lnf_model_label(f.model, index, 0, text, 4) == 0);
  }
  for (const int64_t label : {int64_t{-1}, int64_t{3}, INT64_MIN, INT64_MAX}) {
    CHECK(lnf_model_label(f.model, 0, label, text, 4) == 0);
  }
  CHECK(lnf_model_head_name(nullptr, 0, text, 4) == 0);
  CHECK(lnf_model_label(nullptr, 0, 0, text, 4) == 0);
  CHECK(lnf_model_producer(nullptr, text, 4) == 0);
  CHECK(lnf_model_dialect(nullptr, text, 4) == 0);
  f.refused([&](lnf_status* s) { return lnf_get_build(nullptr, s); });
  CHECK(lnf_model_find_head(nullptr, "x") == -1);
  CHECK(lnf_model_find_head(f.model, nullptr) == -1);
  f.refused([&](lnf_status* s) { return lnf_tokenizer_create(nullptr, &tokenizer, s); });
  f.refused([&](lnf_status* s) { return lnf_tokenizer_create(f.model, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_encoding_create(nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_encode(nullptr, "x", 1, nullptr, 0, nullptr, f.encoding, s); });
  f.refused([&](lnf_status* s) { return lnf_encode(f.tokenizer, "x", 1, nullptr, 0, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_encode(f.tokenizer, nullptr, 1, nullptr, 0, nullptr, f.encoding, s); });
  CHECK(lnf_encoding_size(nullptr) == 0);
  CHECK(lnf_encoding_ids(nullptr) == nullptr);
  CHECK(lnf_encoding_type_ids(nullptr) == nullptr);
  CHECK(lnf_encoding_offsets(nullptr) == nullptr);
  CHECK(lnf_encoding_total(nullptr) == 0);
  f.refused([&](lnf_status* s) { return lnf_decode(nullptr, f.ids, 3, 0, text, 4, &count, s); });
  f.refused([&](lnf_status* s) { return lnf_decode(f.tokenizer, nullptr, 3, 0, text, 4, &count, s); });
  f.refused([&](lnf_status* s) { return lnf_decode(f.tokenizer, f.ids, 3, 0, nullptr, 4, &count, s); });
  f.refused([&](lnf_status* s) { return lnf_decode(f.tokenizer, f.ids, 3, 0, text, 4, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_plan_bytes(nullptr, nullptr, &bytes, s); });
  f.refused([&](lnf_status* s) { return lnf_plan_bytes(f.model, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_session_create(nullptr, nullptr, &session, s); });
  f.refused([&](lnf_status* s) { return lnf_session_create(f.model, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_run(nullptr, &f.input, 1, &f.output, 1, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_run(f.session, nullptr, 1, &f.output, 1, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_run(f.session, &f.input, 1, nullptr, 1, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_run(f.session, nullptr, 0, nullptr, 0, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_shapes(nullptr, &f.input, 1, &f.output, 1, s); });
  f.refused([&](lnf_status* s) { return lnf_shapes(f.session, nullptr, 1, &f.output, 1, s); });
  f.refused([&](lnf_status* s) { return lnf_shapes(f.session, &f.input, 1, nullptr, 1, s); });
  int64_t tokens[3];
  f.refused([&](lnf_status* s) { return lnf_row_tokens(nullptr, &f.input, tokens, 3, &count, s); });
  f.refused([&](lnf_status* s) { return lnf_row_tokens(f.session, nullptr, tokens, 3, &count, s); });
  f.refused([&](lnf_status* s) { return lnf_row_tokens(f.session, &f.input, nullptr, 3, &count, s); });
  f.refused([&](lnf_status* s) { return lnf_row_tokens(f.session, &f.input, tokens, 3, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_classifier_create(nullptr, nullptr, 0, nullptr, &classifier, s); });
  f.refused([&](lnf_status* s) { return lnf_classifier_create(f.model, nullptr, 1, nullptr, &classifier, s); });
  f.refused([&](lnf_status* s) { return lnf_classifier_create(f.model, nullptr, 0, nullptr, nullptr, s); });
  const auto classify = [&](lnf_classifier* c, const char* const* t, size_t n, float* to, size_t room) {
    f.refused([=](lnf_status* s) { return lnf_classify(c, t, nullptr, nullptr, nullptr, n, to, room, nullptr, s); });
  };
  classify(nullptr, texts, 1, f.floats, 4);
  classify(f.classifier, nullptr, 1, f.floats, 4);
  classify(f.classifier, texts, 1, nullptr, 4);
  const char* holes[] = {nullptr};
  classify(f.classifier, holes, 1, f.floats, 4);
  f.refused(
      [&](lnf_status* s) {
        return lnf_classify(f.classifier, texts, nullptr, nullptr, nullptr, 1, f.floats, 2, nullptr, s);
      },
      LNF_TOO_LONG);
  f.refused(
      [&](lnf_status* s) {
        return lnf_classify(f.classifier, texts, nullptr, nullptr, nullptr, SIZE_MAX, f.floats, 4, nullptr, s);
      },
      LNF_TOO_LONG);
  f.refused([&](lnf_status* s) {
    return lnf_classify_each(f.classifier, texts, nullptr, nullptr, nullptr, 1, nullptr, nullptr, nullptr, s);
  });
  f.refused([&](lnf_status* s) {
    return lnf_classify_each(nullptr, texts, nullptr, nullptr, nullptr, 1, visit, nullptr, nullptr, s);
  });
  f.refused([&](lnf_status* s) { return lnf_embedder_create(nullptr, -1, -1, nullptr, &embedder, s); });
  f.refused([&](lnf_status* s) { return lnf_embedder_create(f.model, -1, -1, nullptr, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_embedder_create(f.model, 4, -1, nullptr, &embedder, s); });
  f.refused([&](lnf_status* s) { return lnf_embedder_create(f.model, -1, 2, nullptr, &embedder, s); });
  f.refused([&](lnf_status* s) { return lnf_embed(nullptr, texts, nullptr, 1, f.floats, 4, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_embed(f.embedder, texts, nullptr, 1, nullptr, 99, nullptr, s); });
  f.refused([&](lnf_status* s) { return lnf_embed(f.embedder, texts, nullptr, 1, f.floats, 4, nullptr, s); },
            LNF_TOO_LONG);
  f.refused([&](lnf_status* s) { return lnf_embed_each(f.embedder, texts, nullptr, 1, nullptr, nullptr, nullptr, s); });
  CHECK(model == nullptr);
  CHECK(session == nullptr);
  CHECK(classifier == nullptr);
  CHECK(lnf_classifier_classes(nullptr, 0) == 0);
  CHECK(lnf_embedder_width(nullptr) == 0);
  lnf_model_free(nullptr);
  lnf_tokenizer_free(nullptr);
  lnf_encoding_free(nullptr);
  lnf_session_free(nullptr);
  lnf_classifier_free(nullptr);
  lnf_embedder_free(nullptr);
  lnf_cancel_free(nullptr);
  lnf_cancel_set(nullptr, 1);
  lnf_load_options_init_sized(nullptr, 8);
  lnf_encode_options_init_sized(nullptr, 8);
  lnf_session_options_init_sized(nullptr, 8);
  lnf_text_options_init_sized(nullptr, 8);
  lnf_input_init_sized(nullptr, 8);
  lnf_output_init_sized(nullptr, 8, 0);
  lnf_control_init_sized(nullptr, 8);
}

TEST_CASE("values out of range, short buffers and lists of wrong lengths are refused") {
  Hostile f;
  f.refused_input([](lnf_input* i) { i->ids = nullptr; });
  f.refused_input([&](lnf_input* i) { i->vectors = f.floats; });
  f.refused_input([](lnf_input* i) { i->count = 0; });
  f.refused_input([&](lnf_input* i) {
    i->encoder_states = f.floats;
    i->state_count = 1;
  });
  const int32_t outside[3] = {2, 13, 3}, negative[3] = {2, -5, 3};
  f.refused_input([&](lnf_input* i) { i->ids = outside; });
  f.refused_input([&](lnf_input* i) { i->ids = negative; });
  int32_t many[40];
  for (int32_t& id : many) id = 5;
  f.refused_input(
      [&](lnf_input* i) {
        i->ids = many;
        i->count = 40;
      },
      LNF_TOO_LONG);
  for (const int32_t kind : {-1, 6, INT32_MAX}) f.refused_output([=](lnf_output* o) { o->kind = kind; });
  for (const int32_t pooling : {-2, 4, 7, INT32_MIN}) f.refused_output([=](lnf_output* o) { o->pooling = pooling; });
  for (const int32_t head : {-1, 4, INT32_MAX}) f.refused_output([=](lnf_output* o) { o->head = head; });
  for (const int32_t layer : {-2, 2, INT32_MAX}) {
    f.refused_output([=](lnf_output* o) {
      o->kind = LNF_HIDDEN;
      o->layer = layer;
    });
  }
  for (const size_t capacity : {0, 2}) {
    f.refused_output([=](lnf_output* o) { o->capacity = capacity; }, LNF_TOO_LONG);
  }
  f.refused_output([](lnf_output* o) { o->data = nullptr; });
  f.refused_output([](lnf_output* o) { o->position_count = 1; });
  const lnf_position beyond[] = {{0, 3}}, before[] = {{0, -1}}, other[] = {{1, 0}};
  for (const lnf_position* position : {beyond, before, other}) {
    f.refused_output([=](lnf_output* o) {
      o->kind = LNF_MASKED_LM;
      o->positions = position;
      o->position_count = 1;
    });
  }
  f.refused_output(
      [&](lnf_output* o) {
        o->kind = LNF_MASKED_LM;
        o->positions = beyond;
        o->position_count = SIZE_MAX / 4;
      },
      LNF_OUT_OF_MEMORY);
  f.refused([&](lnf_status* s) { return lnf_run(f.session, &f.input, SIZE_MAX, &f.output, 1, nullptr, s); },
            LNF_TOO_LONG);
  f.refused([&](lnf_status* s) { return lnf_run(f.session, &f.input, 1, &f.output, SIZE_MAX, nullptr, s); },
            LNF_TOO_LONG);
  lnf_input two[2] = {f.input, f.input};
  f.refused([&](lnf_status* s) { return lnf_run(f.session, two, 2, nullptr, 0, nullptr, s); },
            LNF_TOO_LONG);  // The session was planned for one input.

  const auto session = [&](auto&& change, lnf_code code = LNF_INVALID_ARGUMENT) {
    lnf_session_options options;
    lnf_session_options_init(&options);
    change(&options);
    f.refused(
        [&](lnf_status* s) {
          lnf_session* made = nullptr;
          const lnf_code given = lnf_session_create(f.model, &options, &made, s);
          CHECK(made == nullptr);
          lnf_session_free(made);
          return given;
        },
        code);
  };
  session([](auto* o) { o->max_tokens = -1; });
  session([](auto* o) { o->max_tokens = 13; });
  session([](auto* o) { o->max_batch = -1; });
  session([](auto* o) { o->max_batch = INT64_MAX; });
  session([](auto* o) { o->max_rows = INT64_MIN; });
  session([](auto* o) { o->threads = 0; });
  session([](auto* o) { o->threads = INT32_MAX; });
  session([](auto* o) { o->compute = 4; });
  session([](auto* o) { o->attention_compute = 3; });
  session([](auto* o) {
    o->attention_compute = LNF_ATTENTION_BF16;
    o->backend = LNF_BACKEND_OPENBLAS;
  });
  session([](auto* o) { o->isa = 5; });
  session([](auto* o) { o->block_rows = 17; });
  session([](auto* o) { o->block_rows = INT32_MIN; });
  session([](auto* o) { o->backend = -1; });
  session([](auto* o) { o->padding = 2; });
  session([](auto* o) { o->part = LNF_PART_DECODER; });
  session([](auto* o) { o->device = -7; });
  session([](auto* o) { o->arena_bytes = 64; });
  alignas(64) static unsigned char memory[128];
  session([](auto* o) { o->arena = memory; });
  session([](auto* o) {
    o->arena = memory;
    o->arena_bytes = 128;
  });
  const auto texts = [&](auto&& change) {
    lnf_text_options options;
    lnf_text_options_init(&options);
    change(&options);
    f.refused([&](lnf_status* s) {
      lnf_classifier* made = nullptr;
      const lnf_code given = lnf_classifier_create(f.model, nullptr, 0, &options, &made, s);
      CHECK(made == nullptr);
      return given;
    });
  };
  texts([](auto* o) { o->on_long = 3; });
  texts([](auto* o) { o->truncation = 9; });
  texts([](auto* o) { o->threads = -1; });
  texts([](auto* o) { o->overlap = INT64_MAX; });
  texts([](auto* o) { o->max_batch = INT64_MIN; });
  texts([](auto* o) { o->max_rows = -1; });
  texts([](auto* o) { o->max_tokens = 2; });
  texts([](auto* o) { o->compute = -1; });
  texts([](auto* o) { o->attention_compute = -1; });
  texts([](auto* o) { o->pad_to = -5; });
  texts([](auto* o) { o->pad_to = INT64_MAX; });
  texts([](auto* o) { o->max_tokens = INT64_MAX; });
  texts([](auto* o) { o->isa = 9; });
  texts([](auto* o) { o->padding = 2; });
  lnf_encode_options encode;
  lnf_encode_options_init(&encode);
  encode.truncation = 4;
  f.refused([&](lnf_status* s) { return lnf_encode(f.tokenizer, "x", 1, nullptr, 0, &encode, f.encoding, s); });
  lnf_encode_options_init(&encode);
  encode.max_length = -1;
  f.refused([&](lnf_status* s) { return lnf_encode(f.tokenizer, "x", 1, nullptr, 0, &encode, f.encoding, s); });
  CHECK(lnf_encoding_size(f.encoding) == 0);  // An error leaves the encoding empty.
  f.refused(
      [&](lnf_status* s) { return lnf_encode(f.tokenizer, "x", SIZE_MAX / 2, nullptr, 0, nullptr, f.encoding, s); },
      LNF_TOO_LONG);
  size_t bytes = 0;
  char text[8];
  const int32_t unknown[] = {99};
  f.refused([&](lnf_status* s) { return lnf_decode(f.tokenizer, unknown, 1, 0, text, 8, &bytes, s); });
  CHECK(refusals > 100);
}

TEST_CASE("handles work after their model was freed") {
  auto* f = new CliFixture;
  lnf_model* model = nullptr;
  lnf_session* session = nullptr;
  lnf_classifier* classifier = nullptr;
  REQUIRE(lnf_model_load(f->model().c_str(), nullptr, &model, nullptr) == LNF_OK);
  REQUIRE(lnf_session_create(model, nullptr, &session, nullptr) == LNF_OK);
  REQUIRE(lnf_classifier_create(model, nullptr, 0, nullptr, &classifier, nullptr) == LNF_OK);
  lnf_model_free(model);
  delete f;
  const char* texts[] = {"good"};
  float values[3];
  CHECK(lnf_classify(classifier, texts, nullptr, nullptr, nullptr, 1, values, 3, nullptr, nullptr) == LNF_OK);
  lnf_classifier_free(classifier);
  lnf_session_free(session);
}

TEST_CASE("an unknown instruction set in the environment is refused") {
  Hostile f;
  const char* kept = std::getenv("LINFORMER_ISA");
  const std::string before = kept != nullptr ? kept : "";
  CHECK(lnf_check_environment(nullptr) == LNF_OK);
  setenv("LINFORMER_ISA", "AVX2", 1);
  f.refused([](lnf_status* s) { return lnf_check_environment(s); });
  unsetenv("LINFORMER_ISA");
  CHECK(lnf_check_environment(nullptr) == LNF_OK);
  if (kept != nullptr) setenv("LINFORMER_ISA", before.c_str(), 1);
}

}  // namespace
}  // namespace linformer_test::hostile_test
