// Tests the prompts of a model in the C API, and vectors of texts with a prompt.
#include <linformer.h>

#include <string>
#include <vector>

#include "c_api/hostile.h"
#include "c_api/ok.h"
#include "linformer/embedder.h"
#include "pipeline/loaded_model.h"

namespace linformer_test::prompts_test {
namespace {

TEST_CASE("prompts are listed, found by name, and the default is used without a name") {
  SentimentModel shape;
  shape.embedding = true;
  shape.prompts = {{"query", "good "}, {"passage", "bad film "}};
  shape.default_prompt = 1;
  const LoadedModel loaded(shape);
  lnf_status status{};
  lnf_model* model = nullptr;
  OK(lnf_model_load(loaded.CliFixture::model().c_str(), nullptr, &model, &status));
  lnf_sentence_embedding_info embedding{};
  embedding.size = sizeof embedding;
  OK(lnf_model_get_sentence_embedding(model, &embedding, &status));
  CHECK(embedding.prompts == 2);
  CHECK(embedding.default_prompt == 1);
  CHECK(embedding.excludes_prompt == 0);
  CHECK(embedding.characters_per_token == 0);
  lnf_prompt_info prompt{};
  prompt.size = sizeof prompt;
  OK(lnf_model_get_prompt(model, 1, &prompt, &status));
  CHECK(std::string(prompt.name) == "passage");
  CHECK(std::string(prompt.text) == "bad film ");
  CHECK(lnf_model_get_prompt(model, 2, &prompt, &status) == LNF_INVALID_ARGUMENT);
  CHECK(lnf_model_get_prompt(model, -1, &prompt, &status) == LNF_INVALID_ARGUMENT);
  CHECK(lnf_model_get_prompt(nullptr, 0, &prompt, &status) == LNF_INVALID_ARGUMENT);

  const auto embed = [&](const char* name, const char* text) {
    lnf_embedder* embedder = nullptr;
    OK(lnf_embedder_create_prompted(model, LNF_POOL_DEFAULT, -1, 0, name, nullptr, &embedder, &status));
    std::vector<float> vector(sentiment_width);
    OK(lnf_embed(embedder, &text, nullptr, 1, vector.data(), vector.size(), nullptr, &status));
    lnf_embedder_free(embedder);
    return vector;
  };
  CHECK(embed("query", "plot") == embed("", "good plot"));
  CHECK(embed(nullptr, "plot") == embed("", "bad film plot"));
  lnf_embedder* embedder = nullptr;
  CHECK(lnf_embedder_create_prompted(model, LNF_POOL_DEFAULT, -1, 0, "nobody", nullptr, &embedder, &status) ==
        LNF_INVALID_ARGUMENT);
  CHECK(std::string(status.message) == "this model has no prompt called 'nobody': it has query, passage");
  CHECK(embedder == nullptr);
  // lnf_embedder_create() uses the default prompt too.
  OK(lnf_embedder_create(model, LNF_POOL_DEFAULT, -1, nullptr, &embedder, &status));
  const char* const text = "plot";
  std::vector<float> vector(sentiment_width);
  OK(lnf_embed(embedder, &text, nullptr, 1, vector.data(), vector.size(), nullptr, &status));
  CHECK(vector == embed("passage", "plot"));
  lnf_embedder_free(embedder);
  lnf_model_free(model);
}

}  // namespace
}  // namespace linformer_test::prompts_test
