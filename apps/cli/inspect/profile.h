// How long a session's ops took.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "linformer/session.h"

namespace linformer::cli {

// Session::profile() with the same op of several layers as one line, slowest first. Throws DataError where it fails.
struct ProfiledOp {
  std::vector<int> layers;  // empty: an op of no layer
  ProgramLine line;         // of the first layer, but with the sums of all, and names as they all have them
};
// Of sessions with one model and the same options, together.
std::vector<ProfiledOp> profile_of(std::span<const Session> sessions);

std::string profile_text(const Plan& plan, const std::vector<ProfiledOp>& ops);
nlohmann::ordered_json profile_json(const Plan& plan, const std::vector<ProfiledOp>& ops);

// Prints either on standard error where the sessions were created with SessionOptions::profile.
void report_profile(std::span<const Session> sessions, bool json);
inline void report_profile(const Session& session, bool json) { report_profile({&session, 1}, json); }

}  // namespace linformer::cli
