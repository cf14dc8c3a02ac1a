// The only header that depends on the version of flatbuffers: 2.0.8 (Debian 12), or 23 and later.
//
// Every file that uses generated code includes this header first. It turns off the library's assertions everywhere,
// since they would end the process. The Verifier and the code of the runtime check what the assertions check.
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

// Puts the generated code in a namespace of this version, such as linformer::schema_v0_1, instead of linformer::schema.
// If two versions are in one process, they must not share each other's inline verifiers.
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

// Returns whether the structure of the metadata is valid. Only the depth and the number of tables need limits: sizes
// are bounded by the buffer, which is smaller than 2 GiB.
inline bool verify_metadata(const uint8_t* bytes, size_t size, uint32_t max_depth, uint32_t max_tables) {
  flatbuffers::Verifier::Options options;
  options.max_depth = max_depth;
  options.max_tables = max_tables;
  flatbuffers::Verifier verifier(bytes, size, options);
  return schema::VerifyModelBuffer(verifier);
}

}  // namespace LINFORMER_NAMESPACE
