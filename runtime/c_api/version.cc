#include "linformer/version.h"

#include "c_api/linformer.h"
#include "io/container.h"

static_assert(LNF_VERSION_MAJOR == LINFORMER_VERSION_MAJOR && LNF_VERSION_MINOR == LINFORMER_VERSION_MINOR &&
                  LNF_VERSION_PATCH == LINFORMER_VERSION_PATCH,
              "c_api/linformer.h and linformer/version.h give the library two versions");

uint32_t lnf_version(void) {
  const linformer::Version version = linformer::library_version();
  return version.major << 16 | version.minor << 8 | version.patch;
}

uint32_t lnf_format_version(void) { return linformer::container_version; }
