#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "support/skip.h"

namespace {

bool skipped = false;

}  // namespace

void linformer_test::skip(const std::string& what) {
  std::printf("skipped: %s\n", what.c_str());
  skipped = true;
}

int main(int argc, char** argv) {
  const int result = doctest::Context(argc, argv).run();
  return result == 0 && skipped ? linformer_test::skip_exit_code : result;
}
