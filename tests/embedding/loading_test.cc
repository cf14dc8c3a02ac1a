// Loads and unloads the shared library and a plugin that links the archive.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <linformer.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "support/random_model.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

namespace linformer_test::loading_test {
namespace {

// A temporary folder with a model file.
struct Work {
  TemporaryFolder folder;
  std::string model = folder.path("model.lnfr");
  Work() { random_builder({}).write(model); }
};

template <class Function>
Function* function(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define CALL(name, ...) function<decltype(name)>(library, #name)(__VA_ARGS__)

// Runs a model with the loaded library. Returns whether the probabilities are valid.
bool use_shared(void* library, const std::string& model_file) {
  if (CALL(lnf_version) != (LNF_VERSION_MAJOR << 16 | LNF_VERSION_MINOR << 8 | LNF_VERSION_PATCH)) return false;
  if (CALL(lnf_format_version) == 0) return false;
  lnf_status status;
  lnf_model* model = nullptr;
  lnf_session* session = nullptr;
  lnf_session_options options;
  CALL(lnf_session_options_init_sized, &options, sizeof options);
  options.threads = 2;
  float probabilities[3] = {};
  const int32_t ids[] = {4, 5, 6, 7};
  lnf_input input;
  CALL(lnf_input_init_sized, &input, sizeof input);
  input.ids = ids;
  input.count = std::size(ids);
  lnf_output output;
  CALL(lnf_output_init_sized, &output, sizeof output, LNF_PROBABILITIES);
  output.data = probabilities;
  output.capacity = std::size(probabilities);
  const bool answered = CALL(lnf_model_load, model_file.c_str(), nullptr, &model, &status) == LNF_OK &&
                        CALL(lnf_session_create, model, &options, &session, &status) == LNF_OK &&
                        CALL(lnf_run, session, &input, 1, &output, 1, nullptr, &status) == LNF_OK;
  if (!answered) std::printf("%s\n", status.message);
  CALL(lnf_session_free, session);
  CALL(lnf_model_free, model);
  const float sum = probabilities[0] + probabilities[1] + probabilities[2];
  return answered && sum > 0.999f && sum < 1.001f;
}
bool use_plugin(void* library, const std::string& model) {
  const auto classify = function<int(const char*)>(library, "plugin_classify");
  return classify && classify(model.c_str()) == 0;
}

void* open(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) std::printf("%s\n", dlerror());
  return library;
}

bool mapped(const std::string& file) {
  const std::string name = std::filesystem::canonical(file).string();
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(name)) return true;
  }
  return false;
}

long resident_kb() {
  std::ifstream in("/proc/self/statm");
  long total = 0, resident = 0;
  in >> total >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

void load_and_unload(const std::string& file, const std::function<bool(void*)>& use) {
  constexpr int rounds = 1000, settled = 100;
  constexpr long most_kb = 128;  // A leak of 150 bytes in each round would add as much.
  long before = 0;
  for (int round = 0; round < rounds; ++round) {
    void* library = open(file);
    REQUIRE(library != nullptr);
    REQUIRE(use(library));
    if (round == 0) CHECK(mapped(file));  // Shows that mapped() works, for the check below.
    CHECK(dlclose(library) == 0);
    if (round == settled) before = resident_kb();
  }
  const long grown = resident_kb() - before;
  std::printf("%s: %d times, resident memory grew by %ld KB\n", file.c_str(), rounds, grown);
  CHECK(grown <= most_kb);
  CHECK_FALSE(mapped(file));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

TEST_CASE("the shared library leaks no memory when it is loaded and unloaded many times") {
  if (sanitized) return skip("sanitizers keep memory and libraries");
  const Work work;
  load_and_unload(LINFORMER_SHARED_LIBRARY, [&](void* library) { return use_shared(library, work.model); });
}

TEST_CASE("a plugin that links the archive leaks no memory when it is loaded and unloaded many times") {
  if (sanitized) return skip("sanitizers keep memory and libraries");
  const Work work;
  load_and_unload(LINFORMER_PLUGIN, [&](void* library) { return use_plugin(library, work.model); });
}

TEST_CASE("two copies of the library in one process work independently") {
  const Work work;
  void* copies[2];
  for (int i : {0, 1}) {
    const std::string file = work.folder.path("copy" + std::to_string(i) + ".so");
    std::filesystem::copy_file(LINFORMER_SHARED_LIBRARY, file);
    copies[i] = open(file);
    REQUIRE(copies[i] != nullptr);
  }
  CHECK(dlsym(copies[0], "lnf_version") != dlsym(copies[1], "lnf_version"));
  for (int i : {0, 1}) CHECK(use_shared(copies[i], work.model));
  CHECK(dlclose(copies[0]) == 0);
  CHECK(use_shared(copies[1], work.model));  // The other copy has been unloaded.
  CHECK(dlclose(copies[1]) == 0);
}

}  // namespace
}  // namespace linformer_test::loading_test
