// The smallest useful program: loads a model, classifies token ids, prints the class. Its stripped size is reported.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "linformer/session.h"

int main(int count, char** arguments) {
  if (count < 3) return 2;
  auto model = linformer::Model::load(arguments[1]);
  if (!model.ok()) return std::puts(model.status().message()), 1;
  auto session = linformer::Session::create(*model, {});
  if (!session.ok()) return std::puts(session.status().message()), 1;
  std::vector<int32_t> ids;
  for (int i = 2; i < count; ++i) ids.push_back(std::atoi(arguments[i]));
  const linformer::Tokens text = ids;
  std::vector<float> probabilities(static_cast<size_t>((*model)->head(0).classes));
  const linformer::Status status = session->run({&text, 1}, linformer::Output::probabilities(probabilities));
  if (!status.ok()) return std::puts(status.message()), 1;
  for (float probability : probabilities) std::printf("%.6f\n", static_cast<double>(probability));
}
