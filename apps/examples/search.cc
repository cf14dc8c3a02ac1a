// search MODEL QUERY TEXT... prints the three texts whose vectors are nearest to the query's.
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

#include "linformer/embedder.h"
#include "linformer/vector_search.h"

int main(int count, char** arguments) {
  if (count < 4) return 2;
  const auto model = linformer::Model::load(arguments[1]);
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().message()), 1;
  linformer::EmbedderOptions options;
  options.pooling = linformer::Pooling::mean;  // Needed for models that don't name a pooling.
  auto embedder = linformer::Embedder::create(*model, options);
  if (!embedder.ok()) return std::fprintf(stderr, "%s\n", embedder.status().message()), 1;
  const std::vector<std::string_view> texts(arguments + 2, arguments + count);
  const auto width = static_cast<size_t>(embedder->width());
  std::vector<float> vectors(texts.size() * width);
  linformer::Status status = embedder->embed(texts, vectors);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message()), 1;

  const std::span<const float> query(vectors.data(), width), rows(vectors.data() + width, vectors.size() - width);
  linformer::VectorSearchOptions searching;
  searching.top_k = 3;
  auto search = linformer::VectorSearch::create(rows, embedder->width(), searching);
  if (!search.ok()) return std::fprintf(stderr, "%s\n", search.status().message()), 1;
  linformer::Scored best[3];
  size_t found = 0;
  status = search->search(query, best, {&found, 1});
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message()), 1;
  for (size_t i = 0; i < found; ++i) {
    std::printf("%.3f %s\n", static_cast<double>(best[i].score), arguments[3 + best[i].index]);
  }
}
