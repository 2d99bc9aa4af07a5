// SPDX-License-Identifier: Apache-2.0
/// \file
/// A prompt as the HTTP request of its provider's wire: address, headers, body. Pure.
#pragma once

#include "actors/llm/provider_config.hpp"
#include "actors/llm/transport.hpp"
#include "messages/llm.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace regatta {

/// Where and how to ask. The key stands in one header (`Authorization`, on Messages `x-api-key`), and only there.
http_request make_request(const prompt& ask, const provider_config& provider);

/// The output limit of a call: the worker's own, else the provider's.
std::uint32_t output_cap_of(const model_choice& choice, const provider_config& provider);

/// gpt-5… and o<digit>… : no temperature, `max_completion_tokens`, reasoning extras.
bool is_reasoning_model(std::string_view model);

}  // namespace regatta
