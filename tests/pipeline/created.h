// Returns the object of a create() function that must succeed.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "linformer/status.h"

namespace linformer_test {

template <class T>
T created(linformer::Result<T> made) {
  REQUIRE_MESSAGE(made.ok(), std::string(made.status().message()));
  return std::move(*made);
}

}  // namespace linformer_test
