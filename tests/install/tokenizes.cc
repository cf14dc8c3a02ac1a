// A program with a tokenizer, and so with utf8proc, whose version it prints.
#include <cstdio>

#include "linformer/tokenizer.h"

extern "C" const char* utf8proc_version(void);

int main() {
  const auto tokenizer = linformer::Tokenizer::create(nullptr);  // of no model, but everything of one is linked
  return std::puts(tokenizer.ok() ? "a tokenizer of nothing" : utf8proc_version()) < 0;
}
