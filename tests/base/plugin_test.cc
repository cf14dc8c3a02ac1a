// Opens and closes a library that contains the runtime.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "support/random_model.h"

namespace linformer_test::plugin_test {
namespace {

bool is_mapped(const std::string& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(file) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("a plugin that contains the runtime is unmapped by dlclose") {
  const std::string plugin = LINFORMER_PLUGIN, model = "plugin_test.lnfr";
  linformer_test::random_builder({}).write(model);
  for (int times = 0; times < 2; ++times) {
    void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(library != nullptr, dlerror());
    CHECK(is_mapped(plugin));
    auto* use = reinterpret_cast<int (*)(const char*)>(dlsym(library, "use_the_runtime"));
    const bool found = use != nullptr;
    REQUIRE(found);
    CHECK(use(model.c_str()) == 0);
    CHECK(dlclose(library) == 0);
    CHECK_FALSE(is_mapped(plugin));
  }
}

}  // namespace

}  // namespace linformer_test::plugin_test
