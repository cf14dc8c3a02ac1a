// Tests how the kind of a head is found: from the settings of transformers and sentence-transformers, from what other
// implementations do with one output, and from --head-kind.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "base/description.h"
#include "base/enum_names.h"
#include "converter/conversion.h"
#include "converter/tiny_fairseq.h"
#include "converter/tiny_hugging_face.h"
#include "converter/workplace.h"

namespace linformer_test::head_kind_test {

using namespace linformer;
using Json = nlohmann::json;

namespace {

using Tensors = std::vector<HandTensor>;

constexpr TinyFamily families[] = {TinyFamily::bert, TinyFamily::roberta, TinyFamily::distilbert};

Tensors classifier(const TinyHuggingFace& tiny, int64_t outputs) {
  Tensors tensors = tiny.tensors();
  const bool roberta = tiny.family == TinyFamily::roberta;
  const char* dense = tiny.family == TinyFamily::bert ? "bert.pooler.dense"
                      : roberta                       ? "classifier.dense"
                                                      : "pre_classifier";
  add_weight_bias(tensors, dense, 8, 8);
  add_weight_bias(tensors, roberta ? "classifier.out_proj" : "classifier", outputs, 8);
  return tensors;
}

Json config_of(const TinyHuggingFace& tiny, const Json& more) {
  Json config = tiny.config();
  config["architectures"] = {"BertForSequenceClassification"};
  config.update(more);
  return config;
}

// Returns a head's kind and, if it is a score, its activation: "regression" or "score sigmoid", for example.
std::string text_of(const ClassificationHead& head) {
  const std::string kind = enum_name(head.kind);
  return head.kind == HeadKind::score ? kind + " " + enum_name(head.score_activation) : kind;
}

std::string kind_of(const Converted& made, size_t head = 0) {
  CHECK(fact(made.report, "kind of " + made.description().heads[head].name) != "");
  return text_of(made.description().heads[head]);
}

const Json identity = "torch.nn.modules.linear.Identity", sigmoid = "torch.nn.modules.activation.Sigmoid",
           tanh_name = "torch.nn.modules.activation.Tanh";
constexpr const char* old_name = "sbert_ce_default_activation_function";

Json new_name(const Json& activation) {
  return {{"sentence_transformers", {{"version", "4.1.0"}, {"activation_fn", activation}}}};
}

bool noted(const convert::Report& report, const std::string& part) {
  for (const std::string& note : report.notes) {
    if (contains(note, part)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("one output has the activation that the configuration names, else its problem type's, else the sigmoid") {
  const Json multi = {{"problem_type", "multi_label_classification"}}, regression = {{"problem_type", "regression"}},
             single = {{"problem_type", "single_label_classification"}};
  const auto with = [](Json a, const Json& b) {
    a.update(b);
    return a;
  };
  const std::pair<Json, const char*> cases[] = {
      {Json::object(), "score sigmoid"},
      {regression, "regression"},
      {multi, "multi_label"},
      {single, "score sigmoid"},
      {Json{{"problem_type", nullptr}}, "score sigmoid"},
      {new_name(identity), "score none"},
      {new_name(sigmoid), "score sigmoid"},
      {new_name(tanh_name), "score tanh"},
      {Json{{old_name, identity}}, "score none"},
      {Json{{old_name, sigmoid}}, "score sigmoid"},
      {Json{{old_name, nullptr}}, "score sigmoid"},
      {with(new_name(identity), {{old_name, sigmoid}}), "score none"},
      {with(Json{{"sentence_transformers", {{"version", "4.1.0"}}}}, {{old_name, identity}}), "score none"},
      {with(new_name(sigmoid), regression), "score sigmoid"},
      {with(new_name(identity), regression), "regression"},
      {with(new_name(identity), multi), "score none"},
      {with(new_name(tanh_name), single), "score tanh"},
      {Json{{"architectures", {"BertForMultipleChoice"}}}, "regression"}};
  for (const TinyFamily family : families) {
    for (const auto& [settings, expected] : cases) {
      const Json& more = settings;
      CAPTURE(static_cast<int>(family));
      CAPTURE(more.dump());
      const TinyHuggingFace tiny{.family = family};
      const Converted made = converted(safetensors(classifier(tiny, 1)), config_of(tiny, more).dump());
      CHECK(kind_of(made) == expected);
      const bool silent = std::all_of(more.begin(), more.end(), [](const Json& value) { return value.is_null(); });
      CHECK(noted(made.report, "Nothing says what the one output") == silent);
    }
  }
}

TEST_CASE("several outputs are labels unless the configuration says otherwise") {
  const std::pair<Json, const char*> cases[] = {
      {Json::object(), "single_label"},
      {Json{{"problem_type", "single_label_classification"}}, "single_label"},
      {Json{{"problem_type", "multi_label_classification"}}, "multi_label"},
      {Json{{"problem_type", "regression"}}, "regression"},
      // The identity is CrossEncoder's default for several outputs. It doesn't say whether they are labels.
      {new_name(identity), "single_label"},
      {new_name(sigmoid), "multi_label"}};
  for (const TinyFamily family : families) {
    for (const auto& [settings, expected] : cases) {
      const Json& more = settings;
      CAPTURE(more.dump());
      const TinyHuggingFace tiny{.family = family};
      CHECK(kind_of(converted(safetensors(classifier(tiny, 3)), config_of(tiny, more).dump())) == expected);
    }
  }
}

TEST_CASE("a configuration that can't be right is an error that names the setting") {
  const TinyHuggingFace tiny;
  const auto error = [&](int64_t outputs, const Json& more) {
    return conversion_error(safetensors(classifier(tiny, outputs)), config_of(tiny, more).dump());
  };
  CHECK(contains(error(2, {{"problem_type", "ranking"}}), "problem_type is \"ranking\""));
  CHECK(contains(error(1, new_name("my_package.Squash")), "sentence_transformers.activation_fn"));
  CHECK(contains(error(1, new_name("my_package.Squash")), "my_package.Squash"));
  CHECK(contains(error(1, new_name(3)), "is not a text"));
  CHECK(contains(error(1, {{"head_kind", "single_label"}}), "softmax over one class is always 1"));
  CHECK(contains(error(2, {{"head_kind", "score"}}), "has 2 outputs, and a score"));
  CHECK(contains(error(2, {{"head_kind", "ranking"}}), "single_label, multi_label, score, score:identity and"));
  CHECK(contains(error(2, {{"head_kind", "regression:sigmoid"}}), "only a score has an activation"));
  CHECK(contains(error(1, {{"head_kind", "score:cubic"}}), "cubic"));
  CHECK(contains(error(1, {{"head_kind", 7}}), "neither a kind nor an object"));
  CHECK(contains(error(1, {{"head_kind", {{"other", "score"}}}}),
                 "names the head \"other\"; the model's heads: classifier"));
}

TEST_CASE("head_kind takes precedence over settings that can't be read, whose errors mention head_kinds") {
  const TinyHuggingFace tiny;
  for (const Json& more : {new_name("my_package.Squash"), new_name("torch.nn.modules.activation.Softmax"), new_name(3),
                           Json{{old_name, "my_package.Squash"}}, Json{{old_name, 3}},
                           Json{{"problem_type", "nonsense"}}, Json{{"problem_type", 3}}}) {
    CAPTURE(more.dump());
    const std::string file = safetensors(classifier(tiny, 1));
    CHECK(contains(conversion_error(file, config_of(tiny, more).dump()), "head_kinds"));
    Json said = more;
    said["head_kind"] = "score:identity";
    CHECK(conversion_error(file, config_of(tiny, said).dump()) == "");
    // A head_kind for other heads doesn't apply to this one.
    said["head_kind"] = Json::object();
    CHECK(contains(conversion_error(file, config_of(tiny, said).dump()), "head_kinds"));
  }
  // The option --head-kind takes precedence, too, over such settings in a config.json beside the checkpoint.
  Workplace place;
  std::filesystem::create_directories(place.path("model"));
  write_file(place.path("model/model.safetensors"), safetensors(classifier(tiny, 1)));
  write_file(place.path("model/config.json"), config_of(tiny, {{"problem_type", "nonsense"}}).dump());
  write_file(place.path("model/config_sentence_transformers.json"),
             Json{{"model_type", "CrossEncoder"}, {"activation_fn", "my.module.Thing"}}.dump());
  const std::string command = place.path("model") + " -o " + place.path("m.lnfr");
  CHECK(contains(place.run(command).err, "--head-kind"));
  const Run run = place.run(command + " --head-kind score");
  CHECK_MESSAGE(run.status == 0, run.err);
}

TEST_CASE("head_kind takes precedence over every other setting, and the export keeps it") {
  const TinyHuggingFace tiny;
  const std::string file = safetensors(classifier(tiny, 1));
  for (const auto& [setting, expected] : {std::pair<Json, const char*>{"score:identity", "score none"},
                                          {"score", "score sigmoid"},
                                          {"score:Tanh", "score tanh"},
                                          {"multi_label", "multi_label"},
                                          {"regression", "regression"},
                                          {{{"classifier", "regression"}}, "regression"}}) {
    const Json& kind = setting;
    CAPTURE(kind.dump());
    Json more = new_name(sigmoid);
    more["head_kind"] = kind;
    const Converted made = converted(file, config_of(tiny, more).dump());
    CHECK(kind_of(made) == expected);
    const Converted again = converted(file, made.settings);
    CHECK(std::equal(made.file.data(), made.file.data() + made.file.size(), again.file.data(),
                     again.file.data() + again.file.size()));
  }
}

TEST_CASE("a fairseq head with one output is a regression") {
  for (const auto& [outputs, expected] : {std::pair<int64_t, const char*>{1, "regression"}, {2, "single_label"}}) {
    CHECK(kind_of(converted(checkpoint_with_head(outputs))) == expected);
  }
  const Converted target = converted(checkpoint_with_head(1), R"({"regression_target": true})");
  CHECK(kind_of(target) == "regression");
  CHECK(kind_of(converted(checkpoint_with_head(1), R"({"head_kind": "score"})")) == "score sigmoid");
  CHECK(kind_of(converted(checkpoint_with_head(3), R"({"head_kind": "multi_label"})")) == "multi_label");
}

TEST_CASE("the folder of a CrossEncoder is read, as saved before sentence-transformers 5.4 and since") {
  const TinyHuggingFace tiny;
  for (const bool with_modules : {false, true}) {
    CAPTURE(with_modules);
    Workplace place;
    std::filesystem::create_directories(place.path("model"));
    write_file(place.path("model/model.safetensors"), safetensors(classifier(tiny, 1)));
    write_file(place.path("model/config.json"), config_of(tiny, Json{{old_name, sigmoid}}).dump());
    Json config = {{"__version__", {{"sentence_transformers", "5.4.0"}}},
                   {"activation_fn", identity},
                   {"default_prompt_name", nullptr},
                   {"model_type", "CrossEncoder"},
                   {"prompts", Json::object()}};
    Json modules = {{{"idx", 0},
                     {"name", "0"},
                     {"path", ""},
                     {"type", "sentence_transformers.base.modules.transformer.Transformer"}}};
    if (with_modules) write_file(place.path("model/modules.json"), modules.dump());
    const auto kind = [&] {
      const Run run = place.run(place.path("model") + " -o " + place.path("m.lnfr") + " --force");
      CHECK_MESSAGE(run.status == 0, run.err);
      auto model = Model::load(place.path("m.lnfr").c_str());
      return model.ok() ? text_of(model.value()->description().heads[0]) : "";
    };
    if (!with_modules) CHECK(kind() == "score sigmoid");
    // The newer file takes precedence.
    write_file(place.path("model/config_sentence_transformers.json"), config.dump());
    CHECK(kind() == "score none");
    config["activation_fn"] = nullptr;
    write_file(place.path("model/config_sentence_transformers.json"), config.dump());
    CHECK(kind() == "score sigmoid");
    modules.push_back({{"idx", 1}, {"path", "1"}, {"type", "sentence_transformers.cross_encoder.modules.LogitScore"}});
    write_file(place.path("model/modules.json"), modules.dump());
    const Run refused = place.run(place.path("model") + " -o " + place.path("n.lnfr"));
    CHECK(refused.status == 1);
    CHECK(refused.err.find("LogitScore") != std::string::npos);
  }
}

TEST_CASE("--head-kind sets the kind of every head or of a named head, and the export keeps it") {
  TinyFairseq tiny;
  Tensors tensors = tiny.tensors();
  add_head(tensors, "tone", 8, 8, 1);
  add_head(tensors, "topics", 8, 8, 3);
  Workplace place;
  write_file(place.path("c.pt"), torch_zip(tensors, tiny.settings()));
  const auto kinds = [&](const std::string& arguments) -> std::string {
    const Run run = place.run(arguments + " -o " + place.path("m.lnfr") + " --force");
    if (run.status != 0) return std::to_string(run.status) + " " + run.err;
    auto model = Model::load(place.path("m.lnfr").c_str());
    REQUIRE(model.ok());
    std::string text;
    for (const ClassificationHead& head : model.value()->description().heads) text += text_of(head) + ", ";
    return text;
  };
  const std::string checkpoint = place.path("c.pt");
  CHECK(kinds(checkpoint) == "regression, single_label, ");
  CHECK(kinds(checkpoint + " --head-kind multi_label") == "multi_label, multi_label, ");
  const std::string both = " --head-kind tone=score:identity --head-kind topics=regression";
  CHECK(kinds(checkpoint + both) == "score none, regression, ");
  CHECK(place.run("--from-lnfr " + place.path("m.lnfr") + " -o " + place.path("back.safetensors")).status == 0);
  CHECK(kinds(place.path("back.safetensors")) == "score none, regression, ");
  CHECK(kinds(checkpoint + " --head-kind score").starts_with("1 "));
  CHECK(contains(kinds(checkpoint + " --head-kind mood=score"),
                 "names the head \"mood\"; the model's heads: tone, topics"));
  CHECK(contains(kinds(checkpoint + " --head-kind regression --head-kind tone=score"), "give it once"));
  CHECK(contains(kinds(checkpoint + " --head-kind fuzzy"), "--head-kind is \"fuzzy\""));
  const Run said = place.run(checkpoint + " -o " + place.path("m.lnfr") + " --force" + both);
  CAPTURE(said.out);
  CHECK(contains(said.out, "score (the output as it is)"));
}

}  // namespace linformer_test::head_kind_test
