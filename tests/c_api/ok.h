// A check that a call of the C API succeeds. If it fails, the check shows the message of the caller's variable
// `status`.
#pragma once

#include <doctest/doctest.h>

#define OK(call)                                    \
  do {                                              \
    const lnf_code made_ = (call);                  \
    CHECK_MESSAGE(made_ == LNF_OK, status.message); \
  } while (false)
