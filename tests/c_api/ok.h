// A check that a call of the C API succeeds; a failure shows the message of `status`, a variable of the caller's.
#pragma once

#include <doctest/doctest.h>

#define OK(call)                                    \
  do {                                              \
    const lnf_code made_ = (call);                  \
    CHECK_MESSAGE(made_ == LNF_OK, status.message); \
  } while (false)
