// Tests structs with wrong sizes, and structs of newer callers.
#include <cstdint>
#include <cstdio>

#include "c_api/hostile.h"

namespace linformer_test::sizes_test {
namespace {

// An options struct and the bytes after it, which a larger size includes.
template <class T>
struct Sized {
  T options;
  unsigned char more[4096];
};

TEST_CASE("structs of wrong sizes are refused, and longer structs are accepted if the additional bytes are 0") {
  Hostile f;
  const auto check = [&](auto made, auto call) {
    using T = decltype(made);
    Sized<T> sized;
    std::memset(&sized, 0, sizeof sized);
    sized.options = made;
    for (const size_t size :
         {size_t{0}, size_t{1}, sizeof(size_t), sizeof(T) - 1, sizeof(T) + 4, size_t{4104}, SIZE_MAX}) {
      sized.options.size = size;
      f.refused([&](lnf_status* s) { return call(&sized.options, s); });
    }
    sized.options.size = sizeof(T) + 8;
    sized.more[7] = 1;
    f.refused([&](lnf_status* s) { return call(&sized.options, s); }, LNF_UNSUPPORTED);
    sized.more[7] = 0;
    lnf_status status;
    CHECK_MESSAGE(call(&sized.options, &status) == LNF_OK, status.message);  // No new field is set.
  };
  lnf_load_options load;
  lnf_load_options_init(&load);
  check(load, [&](const lnf_load_options* options, lnf_status* s) {
    lnf_model* model = nullptr;
    const lnf_code code = lnf_model_load(f.CliFixture::model().c_str(), options, &model, s);
    CHECK((model != nullptr) == (code == LNF_OK));
    lnf_model_free(model);
    return code;
  });
  lnf_encode_options encode;
  lnf_encode_options_init(&encode);
  check(encode, [&](const lnf_encode_options* options, lnf_status* s) {
    return lnf_encode(f.tokenizer, "good", 4, nullptr, 0, options, f.encoding, s);
  });
  lnf_session_options session;
  lnf_session_options_init(&session);
  check(session, [&](const lnf_session_options* options, lnf_status* s) {
    lnf_session* made = nullptr;
    const lnf_code code = lnf_session_create(f.model, options, &made, s);
    lnf_session_free(made);
    return code;
  });
  check(session, [&](const lnf_session_options* options, lnf_status* s) {
    uint64_t bytes = 0;
    return lnf_plan_bytes(f.model, options, &bytes, s);
  });
  lnf_text_options texts;
  lnf_text_options_init(&texts);
  check(texts, [&](const lnf_text_options* options, lnf_status* s) {
    lnf_classifier* made = nullptr;
    const lnf_code code = lnf_classifier_create(f.model, nullptr, 0, options, &made, s);
    lnf_classifier_free(made);
    return code;
  });
  check(texts, [&](const lnf_text_options* options, lnf_status* s) {
    lnf_embedder* made = nullptr;
    const lnf_code code = lnf_embedder_create(f.model, -1, -1, options, &made, s);
    lnf_embedder_free(made);
    return code;
  });
  float room[4];
  lnf_output output = f.output;
  output.data = room;
  lnf_control control;
  lnf_control_init(&control);
  check(control, [&](const lnf_control* options, lnf_status* s) {
    return lnf_run(f.session, &f.input, 1, &output, 1, options, s);
  });
  check(f.input,
        [&](const lnf_input* input, lnf_status* s) { return lnf_run(f.session, input, 1, &output, 1, nullptr, s); });
  check(output, [&](lnf_output* made, lnf_status* s) { return lnf_run(f.session, &f.input, 1, made, 1, nullptr, s); });
  // All structs of a list must have the same size.
  lnf_output two[2] = {output, output};
  two[1].size += 8;
  f.refused([&](lnf_status* s) { return lnf_run(f.session, &f.input, 1, two, 2, nullptr, s); });
  lnf_model_info info;
  lnf_head_info head;
  lnf_build build;
  for (const size_t size : {size_t{0}, size_t{8}, size_t{4104}, SIZE_MAX}) {
    info.size = head.size = build.size = size;
    f.refused([&](lnf_status* s) { return lnf_model_get_info(f.model, &info, s); });
    f.refused([&](lnf_status* s) { return lnf_model_get_head(f.model, 0, &head, s); });
    f.refused([&](lnf_status* s) { return lnf_get_build(&build, s); });
  }
  std::printf("%d refusals\n", refusals);
}

}  // namespace
}  // namespace linformer_test::sizes_test
