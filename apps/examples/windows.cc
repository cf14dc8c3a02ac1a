// windows MODEL TEXT splits a long text into windows, prints them, and computes the text's logits and its mean vector
// in one pass.
#include <cstdio>

#include "linformer/text_reader.h"
#include "linformer/text_runner.h"

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const auto model = linformer::Model::load(arguments[1]);
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().message()), 1;
  linformer::TextReaderOptions options;
  options.texts.on_long = linformer::OnLong::window;
  options.texts.max_tokens = 8;
  auto reader = linformer::TextReader::create(*model, options);
  if (!reader.ok()) return std::fprintf(stderr, "%s\n", reader.status().message()), 1;
  const linformer::TextInput input{arguments[2], {}, {}};
  linformer::TextReport report;
  if (!reader->read(input, &report).ok()) return std::fprintf(stderr, "%s\n", report.status.message()), 1;
  for (int64_t i = 0; i < reader->sequences(); ++i) {
    const auto window = reader->sequence(i);
    if (!window.ok()) return std::fprintf(stderr, "%s\n", window.status().message()), 1;
    std::printf("%zu tokens from %lld on\n", window->ids.size(), static_cast<long long>(window->first[0]));
  }

  const linformer::Output outputs[] = {linformer::Output::logits({}),
                                       linformer::Output::pooled({}, linformer::Pooling::mean)};
  auto runner = linformer::TextRunner::create(*model, outputs, options.texts);
  if (!runner.ok()) return std::fprintf(stderr, "%s\n", runner.status().message()), 1;
  const auto print = [&](size_t, const linformer::TextReport& text, std::span<const float> values) {
    if (text.status.ok())
      std::printf("%lld logits of %zu numbers\n", static_cast<long long>(runner->columns(0)), values.size());
    return true;
  };
  const linformer::Status status = runner->run(std::span(&input, 1), print);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message()), 1;
}
