// own_memory MODEL runs a session in memory of the caller and on threads of the caller.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "linformer/session.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const auto model = linformer::Model::load(arguments[1]);
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().message()), 1;
  linformer::SessionOptions options;
  options.memory.max_tokens = 64;
  options.cpu.threads = 2;
  options.cpu.parallel = [](void*, void (*task)(void*, int), void* argument, int tasks) {
    std::vector<std::thread> threads;
    for (int i = 1; i < tasks; ++i) threads.emplace_back(task, argument, i);
    task(argument, 0);
    for (std::thread& thread : threads) thread.join();
  };
  const auto plan = linformer::plan(**model, options);
  if (!plan.ok()) return std::fprintf(stderr, "%s\n", plan.status().message()), 1;
  const size_t bytes = static_cast<size_t>(plan->total_bytes);
  options.memory.arena = {static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), bytes};

  auto session = linformer::Session::create(*model, options);
  if (!session.ok()) return std::fprintf(stderr, "%s\n", session.status().message()), 1;
  const int32_t ids[] = {0, 31, 32, 2};
  const linformer::Tokens texts[] = {ids};
  std::vector<float> scores(static_cast<size_t>(session->classes(0)));
  const linformer::Status status = session->run(texts, {linformer::Output::probabilities(scores)});
  std::printf("%zu bytes, %s\n", bytes, status.ok() ? "ok" : status.message());
  { auto done = std::move(*session); }  // The session is destroyed here, before its arena is freed.
  std::free(options.memory.arena.data());
  return status.ok() ? 0 : 1;
}
