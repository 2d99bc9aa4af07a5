// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether candidates on the CPU can start warm on this host, found by starting one.
#pragma once

#include "sandbox/interpreter.hpp"
#include "sandbox/probe.hpp"

#include <string>

namespace regatta::cli {

/// Empty, or why they start cold. Loads what candidates load: takes as long as an import of torch, 30 s at most.
std::string why_cold(const sandbox::interpreter& python, const sandbox::host_facts& host);

}  // namespace regatta::cli
