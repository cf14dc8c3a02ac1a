// cancel MODEL TEXT classifies a long list of texts, and cancels the call from another thread.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include "linformer/classifier.h"

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const auto model = linformer::Model::load(arguments[1]);
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().message()), 1;
  auto classifier = linformer::Classifier::create(*model);
  if (!classifier.ok()) return std::fprintf(stderr, "%s\n", classifier.status().message()), 1;

  const std::vector<std::string_view> texts(10'000'000, arguments[2]);
  std::vector<float> probabilities(texts.size() * static_cast<size_t>(classifier->classes()));
  std::atomic<bool> cancel{false};
  linformer::RunControl control;
  control.cancel = &cancel;
  std::thread impatient([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel = true;
  });
  const linformer::Status status = classifier->classify(texts, probabilities, control);
  impatient.join();
  std::printf("%s\n", status.message());
  return status.code() == linformer::Code::cancelled ? 0 : 1;
}
