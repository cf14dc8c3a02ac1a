// embed MODEL FIRST SECOND prints how similar two texts are: the cosine of their vectors.
#include <cstdio>
#include <numeric>
#include <string_view>
#include <vector>

#include "linformer/embedder.h"

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const auto model = linformer::Model::load(arguments[1]);
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().message()), 1;
  linformer::EmbedderOptions options;
  options.pooling = linformer::Pooling::mean;  // Needed for models that don't name a pooling.
  options.normalize = true;
  auto embedder = linformer::Embedder::create(*model, options);
  if (!embedder.ok()) return std::fprintf(stderr, "%s\n", embedder.status().message()), 1;

  const std::string_view texts[] = {arguments[2], arguments[3]};
  const auto width = embedder->width();
  std::vector<float> vectors(static_cast<size_t>(2 * width));
  const linformer::Status status = embedder->embed(texts, vectors);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message()), 1;
  const auto second = vectors.begin() + width;
  std::printf("%.3f\n", static_cast<double>(std::inner_product(vectors.begin(), second, second, 0.f)));
}
