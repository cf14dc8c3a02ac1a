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

#include "schema/linformer_generated.h"

namespace linformer::schema {

// Depth and table count are the limits that matter: sizes are bounded by the buffer, which is below 2 GiB.
inline bool verify_metadata(const uint8_t* bytes, size_t size, uint32_t max_depth, uint32_t max_tables) {
  flatbuffers::Verifier::Options options;
  options.max_depth = max_depth;
  options.max_tables = max_tables;
  flatbuffers::Verifier verifier(bytes, size, options);
  return VerifyModelBuffer(verifier);
}

}  // namespace linformer::schema
