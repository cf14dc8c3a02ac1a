// from_descriptor FILE OFFSET BYTES loads a model that is a part of another file, such as an app's package.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "linformer/model.h"

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const int file = ::open(arguments[1], O_RDONLY);
  const auto model = linformer::Model::load_descriptor(file, std::strtoull(arguments[2], nullptr, 10),
                                                       std::strtoull(arguments[3], nullptr, 10));
  ::close(file);  // The model doesn't need the descriptor any more.
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().message()), 1;
  const linformer::ModelInfo info = (*model)->info();
  std::printf("%lld tokens, %d layers, %d heads\n", static_cast<long long>(info.max_tokens), info.layers, info.heads);
}
