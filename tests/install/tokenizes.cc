// A program that links the code of tokenizers, and therefore utf8proc, whose version it prints.
#include <cstdio>

#include "linformer/tokenizer.h"

extern "C" const char* utf8proc_version(void);

int main() {
  const auto tokenizer = linformer::Tokenizer::create(nullptr);  // This fails, but links the code of tokenizers.
  return std::puts(tokenizer.ok() ? "a tokenizer of nothing" : utf8proc_version()) < 0;
}
