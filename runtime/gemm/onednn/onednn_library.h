// The C functions of oneDNN. The library is opened when the backend is first used.
#pragma once

#include <dnnl.h>

#include "gemm/openmp.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::onednn {

// Expands to F(NAME) for each function dnnl_NAME that the backend calls in all versions of oneDNN.
#define LINFORMER_ONEDNN_FUNCTIONS(F)   \
  F(engine_create)                      \
  F(engine_destroy)                     \
  F(memory_create)                      \
  F(memory_destroy)                     \
  F(memory_desc_get_size)               \
  F(post_ops_append_sum)                \
  F(post_ops_create)                    \
  F(post_ops_destroy)                   \
  F(primitive_attr_create)              \
  F(primitive_attr_destroy)             \
  F(primitive_attr_set_post_ops)        \
  F(primitive_attr_set_scratchpad_mode) \
  F(primitive_create)                   \
  F(primitive_desc_destroy)             \
  F(primitive_desc_query)               \
  F(primitive_desc_query_md)            \
  F(primitive_destroy)                  \
  F(primitive_execute)                  \
  F(sgemm)                              \
  F(stream_create)                      \
  F(stream_destroy)                     \
  F(stream_wait)                        \
  F(version)
#if DNNL_VERSION_MAJOR >= 3
#define LINFORMER_ONEDNN_VERSION_FUNCTIONS(F) \
  F(matmul_primitive_desc_create)             \
  F(memory_desc_clone)                        \
  F(memory_desc_create_with_tag)              \
  F(memory_desc_destroy)
#else
#define LINFORMER_ONEDNN_VERSION_FUNCTIONS(F) \
  F(matmul_desc_init)                         \
  F(memory_desc_init_by_tag)                  \
  F(primitive_desc_create)
#endif

struct Library {
#define LINFORMER_ONEDNN_POINTER(name) decltype(&dnnl_##name) name = nullptr;
  LINFORMER_ONEDNN_FUNCTIONS(LINFORMER_ONEDNN_POINTER)
  LINFORMER_ONEDNN_VERSION_FUNCTIONS(LINFORMER_ONEDNN_POINTER)
#undef LINFORMER_ONEDNN_POINTER
  OpenMp openmp;
};

// Opens the library unless it is open, for `threads` threads that will call it at the same time. It is thread-safe.
// Returns out_of_memory if the process's limit of address space leaves too little room for generated code.
Status open_library(int threads);
// Returns the library. open_library() must have succeeded before.
const Library& library();

}  // namespace LINFORMER_NAMESPACE::onednn
