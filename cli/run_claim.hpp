// SPDX-License-Identifier: Apache-2.0
/// \file
/// One run id, one race: two programs that start in the same second with the same random number must not write into
/// one folder.
#pragma once

#include "messages/ids.hpp"

#include <caf/error.hpp>

#include <functional>
#include <string>

namespace regatta::cli {

/// The first of `make` whose folder is not there yet. After a few tries the last one: the claim will tell.
race_id unused_run_id(const std::string& state_dir, const std::function<race_id()>& make);

/// Makes the folder, which nobody else may have made. Fails: `ec::refused`, `ec::io_failed`.
caf::error claim_run_folder(const std::string& run_dir);

}  // namespace regatta::cli
