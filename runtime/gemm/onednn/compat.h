// The differences between oneDNN 2.6 and 3.x, on which only this file and onednn_library depend. The backend uses the C
// API, because the C++ API throws exceptions.
#pragma once

#include <utility>

#include "gemm/onednn/onednn_library.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE::onednn {

#if DNNL_VERSION_MAJOR >= 3
using DescPointer = const_dnnl_memory_desc_t;
#else
using DescPointer = const dnnl_memory_desc_t*;
#endif

// Owns a memory descriptor of oneDNN, which is a struct in 2.x and a handle in 3.x.
class MemoryDesc {
 public:
  MemoryDesc() = default;
  MemoryDesc(MemoryDesc&& other) noexcept { swap(other); }
  MemoryDesc& operator=(MemoryDesc&& other) noexcept {
    swap(other);
    return *this;
  }

#if DNNL_VERSION_MAJOR >= 3
  ~MemoryDesc() {
    if (desc_ != nullptr) library().memory_desc_destroy(desc_);
  }
  DescPointer get() const { return desc_; }
  dnnl_status_t copy(DescPointer other) { return library().memory_desc_clone(&desc_, other); }
  // Makes the descriptor describe dense rows of f32.
  dnnl_status_t describe_rows(dnnl_dim_t rows, dnnl_dim_t cols) {
    const dnnl_dims_t dims = {rows, cols};
    return library().memory_desc_create_with_tag(&desc_, 2, dims, dnnl_f32, dnnl_ab);
  }
  // Sets the descriptor to f32 weights of shape [k, n] in the layout TensorLayout::panel16.
  dnnl_status_t describe_panels(dnnl_dim_t k, dnnl_dim_t n) {
    const dnnl_dims_t dims = {k, n};
    return library().memory_desc_create_with_tag(&desc_, 2, dims, dnnl_f32, dnnl_BA16a16b);
  }

 private:
  void swap(MemoryDesc& other) { std::swap(desc_, other.desc_); }
  dnnl_memory_desc_t desc_ = nullptr;
#else
  DescPointer get() const { return &desc_; }
  dnnl_status_t copy(DescPointer other) {
    desc_ = *other;
    return dnnl_success;
  }
  dnnl_status_t describe_rows(dnnl_dim_t rows, dnnl_dim_t cols) {
    const dnnl_dims_t dims = {rows, cols};
    return library().memory_desc_init_by_tag(&desc_, 2, dims, dnnl_f32, dnnl_ab);
  }
  dnnl_status_t describe_panels(dnnl_dim_t k, dnnl_dim_t n) {
    const dnnl_dims_t dims = {k, n};
    return library().memory_desc_init_by_tag(&desc_, 2, dims, dnnl_f32, dnnl_BA16a16b);
  }

 private:
  void swap(MemoryDesc& other) { std::swap(desc_, other.desc_); }
  dnnl_memory_desc_t desc_ = {};
#endif
};

inline dnnl_status_t append_sum(dnnl_post_ops_t post_ops) {
#if DNNL_VERSION_MAJOR >= 3
  return library().post_ops_append_sum(post_ops, 1.f, 0, dnnl_data_type_undef);
#else
  return library().post_ops_append_sum(post_ops, 1.f);
#endif
}

// `bias` is null if there is no bias.
inline dnnl_status_t create_matmul(dnnl_primitive_desc_t* desc, dnnl_engine_t engine, DescPointer a, DescPointer b,
                                   DescPointer bias, DescPointer c, const_dnnl_primitive_attr_t attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return library().matmul_primitive_desc_create(desc, engine, a, b, bias, c, attributes);
#else
  dnnl_matmul_desc_t matmul;
  const dnnl_status_t status = library().matmul_desc_init(&matmul, a, b, bias, c);
  return status != dnnl_success ? status : library().primitive_desc_create(desc, &matmul, attributes, engine, nullptr);
#endif
}

}  // namespace LINFORMER_NAMESPACE::onednn
