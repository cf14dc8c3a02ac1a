#include "gemm/onednn/onednn_library.h"

#include "base/shared_library.h"

namespace LINFORMER_NAMESPACE::onednn {
namespace {

#define LINFORMER_TEXT_OF(number) #number
#define LINFORMER_TEXT(macro) LINFORMER_TEXT_OF(macro)
// The major version is part of the file name, because another major version has other functions and structures.
#define LINFORMER_ONEDNN_FILE "libdnnl.so." LINFORMER_TEXT(DNNL_VERSION_MAJOR)

// The library is looked for in the folder where the build found it, and then wherever the system looks.
constexpr LibraryNames names = {"oneDNN",
                                "libdnnl" LINFORMER_TEXT(DNNL_VERSION_MAJOR),
#if defined(LINFORMER_ONEDNN_FOLDER)
                                {LINFORMER_ONEDNN_FOLDER "/" LINFORMER_ONEDNN_FILE, LINFORMER_ONEDNN_FILE}
#else
                                {LINFORMER_ONEDNN_FILE, nullptr}
#endif
};

// The bytes of address space that must be free for the library and for generated code, which together take some 30 MB.
// dnnl_sgemm generates code in the first calls of each kind, and it ends the process if there is no memory for it.
constexpr uint64_t code_bytes = uint64_t{64} << 20;

Status open(Library* library) {
  const Result<void*> handle = linformer::open_library(names);
  if (!handle.ok()) return handle.status();
#define LINFORMER_ONEDNN_FIND(name) LINFORMER_TRY(find_function(*handle, names, "dnnl_" #name, &library->name));
  LINFORMER_ONEDNN_FUNCTIONS(LINFORMER_ONEDNN_FIND)
  LINFORMER_ONEDNN_VERSION_FUNCTIONS(LINFORMER_ONEDNN_FIND)
#undef LINFORMER_ONEDNN_FIND
  library->openmp = OpenMp(*handle);
  return {};
}

OpenedOnce<Library>& opened() {
  static OpenedOnce<Library> only;
  return only;
}

}  // namespace

Status open_library(int threads) {
  const Result<const Library*> library = opened().get(&open);
  if (!library.ok()) return library.status();
  return check_address_space(names, code_bytes + static_cast<uint64_t>(threads) * thread_address_space);
}

const Library& library() { return opened().table(); }

}  // namespace LINFORMER_NAMESPACE::onednn
