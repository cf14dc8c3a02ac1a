// rerank MODEL QUERY DOCUMENT... prints the three documents that a cross-encoder scores best for the query.
#include <cstdio>
#include <string_view>
#include <vector>

#include "linformer/reranker.h"

int main(int count, char** arguments) {
  if (count < 4) return 2;
  const auto model = linformer::Model::load(arguments[1]);
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().message()), 1;
  auto reranker = linformer::Reranker::create(*model);
  if (!reranker.ok()) return std::fprintf(stderr, "%s\n", reranker.status().message()), 1;

  const std::vector<std::string_view> documents(arguments + 3, arguments + count);
  linformer::Scored best[3];
  size_t found = 0;
  const linformer::Status status = reranker->rank(arguments[2], documents, best, &found);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message()), 1;
  for (size_t i = 0; i < found; ++i) {
    std::printf("%.3f %s\n", static_cast<double>(best[i].score), arguments[3 + best[i].index]);
  }
}
