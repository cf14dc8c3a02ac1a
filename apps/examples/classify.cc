// classify MODEL TEXT... prints the probability of each label for each text.
#include <cstdio>
#include <string_view>
#include <vector>

#include "linformer/classifier.h"

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const auto model = linformer::Model::load(arguments[1]);
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().message()), 1;
  auto classifier = linformer::Classifier::create(*model);
  if (!classifier.ok()) return std::fprintf(stderr, "%s\n", classifier.status().message()), 1;

  const std::vector<std::string_view> texts(arguments + 2, arguments + count);
  const size_t classes = static_cast<size_t>(classifier->classes());
  std::vector<float> probabilities(texts.size() * classes);
  const linformer::Status status = classifier->classify(texts, probabilities);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.message()), 1;
  for (size_t t = 0; t < texts.size(); ++t) {
    for (size_t c = 0; c < classes; ++c) {
      const std::string_view label = (*model)->label(0, static_cast<int64_t>(c));
      std::printf("%s%.*s %.3f", c == 0 ? "" : ", ", static_cast<int>(label.size()), label.data(),
                  static_cast<double>(probabilities[t * classes + c]));
    }
    std::printf("\n");
  }
}
