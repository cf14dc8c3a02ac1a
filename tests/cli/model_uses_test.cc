// Tests that the commands which `inspect` and the converter's report suggest for a model work as they are printed.
#include "input_files/model_uses.h"

#include <doctest/doctest.h>

#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::model_uses_test {

using linformer::files::ModelUse;

namespace {

std::vector<std::string> commands_of(const CliFixture& f) {
  std::vector<std::string> commands;
  for (const ModelUse& use : linformer::files::commands_that_run(**linformer::Model::load(f.model().c_str()))) {
    commands.push_back(use.command);
    // Splits the line into arguments as the shell does, without `linformer`.
    const std::string line = linformer::files::command_line(use, f.model());
    std::vector<std::string> arguments(1);
    bool quoted = false;
    for (const char c : line.substr(line.find(' ') + 1)) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ' ' && !quoted) {
        arguments.emplace_back();
      } else {
        arguments.back() += c;
      }
    }
    const Ran ran = run(arguments);
    CHECK_MESSAGE(ran.code == 0, line << ": " << ran.err);
  }
  return commands;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("what a model is for: each suggested command takes the model") {
  CHECK(commands_of(CliFixture()) == Names{"classify", "fill-mask"});
  CHECK(commands_of(CliFixture({.heads = false, .embedding = true})) == Names{"embed", "fill-mask"});
  CHECK(commands_of(CliFixture({.token_heads = true})) == Names{"classify", "tag", "answer", "fill-mask"});
}

TEST_CASE("what a model is for: rerank is suggested for heads with one score and heads that compare two texts") {
  CHECK(commands_of(CliFixture({.numbers = true})) == Names{"classify", "rerank", "fill-mask"});
  CHECK(commands_of(CliFixture({.more_heads = true})) == Names{"classify", "rerank", "tag", "fill-mask"});
  const CliFixture f({.numbers = true});
  const auto uses = linformer::files::commands_that_run(**linformer::Model::load(f.model().c_str()));
  CHECK(uses.at(1).arguments == "--query \"Who won?\" \"Ann won.\" \"It rained.\" --head 2");
}

}  // namespace linformer_test::model_uses_test
