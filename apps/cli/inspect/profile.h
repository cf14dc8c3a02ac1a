// Reports how long the ops of sessions took.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "linformer/session.h"

namespace linformer::cli {

// An op of a profile. The same op of several layers is one ProfiledOp.
struct ProfiledOp {
  std::vector<int> layers;  // Empty if the op belongs to no layer.
  // The line of the first layer, with two changes: its amounts are the sums over all layers, and a number in a name is
  // replaced by "*" if the layers differ in it.
  ProgramLine line;
};
// Returns the profile of sessions that have the same model and options, summed over the sessions, the slowest op first.
// Throws DataError if Session::profile() fails.
std::vector<ProfiledOp> profile_of(std::span<const Session> sessions);

std::string profile_text(const Plan& plan, const std::vector<ProfiledOp>& ops);
nlohmann::ordered_json profile_json(const Plan& plan, const std::vector<ProfiledOp>& ops);

// Prints the profile on standard error, as JSON or text, if the sessions were created with SessionOptions::profile.
void report_profile(std::span<const Session> sessions, bool json);
inline void report_profile(const Session& session, bool json) { report_profile({&session, 1}, json); }

}  // namespace linformer::cli
