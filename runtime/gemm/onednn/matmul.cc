#include "gemm/onednn/matmul.h"

#include <cinttypes>
#include <cstring>
#include <utility>

namespace LINFORMER_NAMESPACE::onednn {
namespace {

// Owns a oneDNN handle and releases it with the function `destroy` of the library.
template <class Handle, auto destroy>
struct Owned {
  Handle handle = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle != nullptr) (library().*destroy)(handle);
  }
};
using OwnedAttributes = Owned<dnnl_primitive_attr_t, &Library::primitive_attr_destroy>;
using OwnedPostOps = Owned<dnnl_post_ops_t, &Library::post_ops_destroy>;
using OwnedPrimitiveDesc = Owned<dnnl_primitive_desc_t, &Library::primitive_desc_destroy>;
using OwnedMemory = Owned<dnnl_memory_t, &Library::memory_destroy>;
using OwnedStream = Owned<dnnl_stream_t, &Library::stream_destroy>;

}  // namespace

Status check(dnnl_status_t status, const char* call) {
  if (status == dnnl_success) return {};
  if (status == dnnl_out_of_memory) return Status::error(Code::out_of_memory, "oneDNN has no memory in %s", call);
  return Status::error(Code::internal, "oneDNN's %s failed with status %d: use the native backend", call,
                       static_cast<int>(status));
}

Matmul::Matmul(Matmul&& other) noexcept { *this = std::move(other); }

Matmul& Matmul::operator=(Matmul&& other) noexcept {
  std::swap(primitive_, other.primitive_);
  a_ = std::move(other.a_);
  b_ = std::move(other.b_);
  c_ = std::move(other.c_);
  scratchpad_ = std::move(other.scratchpad_);
  bias_ = std::move(other.bias_);
  has_bias_ = other.has_bias_;
  scratchpad_bytes_ = other.scratchpad_bytes_;
  return *this;
}

Matmul::~Matmul() {
  if (primitive_ != nullptr) library().primitive_destroy(primitive_);
}

Status Matmul::build(dnnl_engine_t engine, const Shape& shape) {
  OwnedAttributes attributes;
  LINFORMER_TRY(check(library().primitive_attr_create(&attributes.handle), "primitive_attr_create"));
  LINFORMER_TRY(check(library().primitive_attr_set_scratchpad_mode(attributes.handle, dnnl_scratchpad_mode_user),
                      "set_scratchpad_mode"));
  OwnedPostOps post_ops;
  if (shape.adds_to_c) {
    LINFORMER_TRY(check(library().post_ops_create(&post_ops.handle), "post_ops_create"));
    LINFORMER_TRY(check(append_sum(post_ops.handle), "post_ops_append_sum"));
    LINFORMER_TRY(check(library().primitive_attr_set_post_ops(attributes.handle, post_ops.handle), "set_post_ops"));
  }
  LINFORMER_TRY(check(a_.describe_rows(shape.m, shape.k), "memory_desc"));
  LINFORMER_TRY(check(b_.describe_panels(shape.k, shape.n), "memory_desc"));
  LINFORMER_TRY(check(c_.describe_rows(shape.m, shape.n), "memory_desc"));
  has_bias_ = shape.has_bias;
  if (has_bias_) LINFORMER_TRY(check(bias_.describe_rows(1, shape.n), "memory_desc"));
  OwnedPrimitiveDesc desc;
  const dnnl_status_t created = create_matmul(&desc.handle, engine, a_.get(), b_.get(),
                                              has_bias_ ? bias_.get() : nullptr, c_.get(), attributes.handle);
  const char* implementation = "";
  if (created == dnnl_success) {
    LINFORMER_TRY(check(library().primitive_desc_query(desc.handle, dnnl_query_impl_info_str, 0, &implementation),
                        "primitive_desc_query"));
  }
  if (created == dnnl_unimplemented || std::strncmp(implementation, "ref", 3) == 0) {
    return Status::error(Code::unsupported,
                         "oneDNN has no generated code for a %" PRId64 " x %" PRId64 " x %" PRId64
                         " product on this machine: use the native backend",
                         shape.m, shape.n, shape.k);
  }
  LINFORMER_TRY(check(created, "matmul_primitive_desc_create"));
  const DescPointer scratchpad = library().primitive_desc_query_md(desc.handle, dnnl_query_scratchpad_md, 0);
  LINFORMER_TRY(check(scratchpad_.copy(scratchpad), "memory_desc_clone"));
  scratchpad_bytes_ = library().memory_desc_get_size(scratchpad);
  return check(library().primitive_create(&primitive_, desc.handle), "primitive_create");
}

Status Matmul::run(dnnl_engine_t engine, const float* a, const float* b, const float* bias, float* c,
                   void* scratchpad) const {
  // The handles to memory and to the stream are created for each call, because threads can't share them.
  OwnedStream stream;
  OwnedMemory memory[5];
  LINFORMER_TRY(check(library().stream_create(&stream.handle, engine, dnnl_stream_default_flags), "stream_create"));
  const DescPointer descs[5] = {a_.get(), b_.get(), c_.get(), scratchpad_.get(), bias_.get()};
  void* data[5] = {const_cast<float*>(a), const_cast<float*>(b), c, scratchpad, const_cast<float*>(bias)};
  dnnl_exec_arg_t arguments[5] = {{DNNL_ARG_SRC, nullptr},
                                  {DNNL_ARG_WEIGHTS, nullptr},
                                  {DNNL_ARG_DST, nullptr},
                                  {DNNL_ARG_SCRATCHPAD, nullptr},
                                  {DNNL_ARG_BIAS, nullptr}};
  const int count = has_bias_ ? 5 : 4;
  for (int i = 0; i < count; ++i) {
    LINFORMER_TRY(check(library().memory_create(&memory[i].handle, descs[i], engine, data[i]), "memory_create"));
    arguments[i].memory = memory[i].handle;
  }
  LINFORMER_TRY(check(library().primitive_execute(primitive_, stream.handle, count, arguments), "primitive_execute"));
  return check(library().stream_wait(stream.handle), "stream_wait");
}

}  // namespace LINFORMER_NAMESPACE::onednn
