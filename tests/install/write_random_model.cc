// Writes a small random model with a head of three classes for the program that is built against the installed library.
#include <cstdio>
#include <exception>

#include "support/random_model.h"

int main(int count, char** arguments) try {
  if (count != 2) return 2;
  linformer_test::random_builder({}).write(arguments[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
