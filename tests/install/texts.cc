// The smallest program that classifies a text: a model, its tokenizer and a session. Its stripped size is reported.
#include <cstdio>
#include <vector>

#include "linformer/session.h"
#include "linformer/tokenizer.h"

int main(int count, char** arguments) {
  if (count < 3) return 2;
  auto model = linformer::Model::load(arguments[1]);
  if (!model.ok()) return std::puts(model.status().message()), 1;
  auto tokenizer = linformer::Tokenizer::create(*model);
  if (!tokenizer.ok()) return std::puts(tokenizer.status().message()), 1;
  auto session = linformer::Session::create(*model, {});
  if (!session.ok()) return std::puts(session.status().message()), 1;
  linformer::Encoding encoding;
  if (const auto status = tokenizer->encode(arguments[2], {}, &encoding); !status.ok()) {
    return std::puts(status.message()), 1;
  }
  const linformer::Tokens text = encoding.ids();
  std::vector<float> probabilities(static_cast<size_t>((*model)->head(0).classes));
  const linformer::Status status = session->run({&text, 1}, linformer::Output::probabilities(probabilities));
  if (!status.ok()) return std::puts(status.message()), 1;
  for (float probability : probabilities) std::printf("%.6f\n", static_cast<double>(probability));
}
