// The one place that knows which flatbuffers this is: 2.0.8 (Debian 12) or 23 and later.
//
// Every file that touches generated code includes this header first, so that the library's assertions, which would
// end the process, are off in the same way everywhere: what they guard is checked by the Verifier and by our own code.
#pragma once

#include <cstdint>

#ifndef FLATBUFFERS_ASSERT
#define FLATBUFFERS_ASSERT(condition) static_cast<void>(0)
#define FLATBUFFERS_ASSERT_INCLUDE <cstdint>
#endif
#include <flatbuffers/flatbuffers.h>

#if FLATBUFFERS_VERSION_MAJOR < 2
#error "flatbuffers 2.0 or later is needed: Verifier::Options"
#endif

#include "linformer/version.h"

// The generated code moves into this version's namespace, which the schema itself says nothing of: two versions in one
// process must not share each other's inline verifiers.
#define LINFORMER_JOIN_(a, b) a##_##b
#define LINFORMER_JOIN(a, b) LINFORMER_JOIN_(a, b)
#define schema LINFORMER_JOIN(schema, LINFORMER_VERSION_NAMESPACE)
#include "schema/linformer_generated.h"
namespace linformer {
inline namespace LINFORMER_VERSION_NAMESPACE {
namespace generated = ::linformer::schema;
}
}  // namespace linformer
#undef schema
#undef LINFORMER_JOIN
#undef LINFORMER_JOIN_

namespace LINFORMER_NAMESPACE {

namespace schema = generated;

// Depth and table count are the limits that matter: sizes are bounded by the buffer, which is below 2 GiB.
inline bool verify_metadata(const uint8_t* bytes, size_t size, uint32_t max_depth, uint32_t max_tables) {
  flatbuffers::Verifier::Options options;
  options.max_depth = max_depth;
  options.max_tables = max_tables;
  flatbuffers::Verifier verifier(bytes, size, options);
  return schema::VerifyModelBuffer(verifier);
}

}  // namespace LINFORMER_NAMESPACE
