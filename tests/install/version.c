/* A program in C99 that links the shared library: prints the versions of the library that runs. */
#include <linformer.h>
#include <stdio.h>

int main(void) {
  const uint32_t version = lnf_version();
  const unsigned major = version >> 16, minor = version >> 8 & 255, patch = version & 255;
  printf("%u.%u.%u, model files of version %u\n", major, minor, patch, (unsigned)lnf_format_version());
  return major != LNF_VERSION_MAJOR || minor != LNF_VERSION_MINOR;
}
