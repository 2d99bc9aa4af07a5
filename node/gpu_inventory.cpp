// SPDX-License-Identifier: Apache-2.0
#include "node/gpu_inventory.hpp"

#include "messages/limits.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace regatta {

namespace {

/// More than any driver or idle desktop holds (measured: below 1 GiB); somebody computes there.
constexpr byte_count foreign_memory = 2 * GiB;

const nvml_gpu* same_gpu(const nvml_answer& nvml, const driver_gpu& seen) {
  const auto at = std::ranges::find_if(nvml.gpus, [&](const nvml_gpu& x) {
    return seen.uuid.empty() ? seen.minor && x.minor == seen.minor : x.uuid == seen.uuid;
  });
  return at == nvml.gpus.end() ? nullptr : &*at;
}

/// What both sources say of each GPU. procfs leads; where it is hidden (some containers) NVML is enough.
struct known_gpu {
  driver_gpu seen;
  std::optional<nvml_gpu> measured;
};

std::vector<known_gpu> join(const device_layer& devices, const nvml_answer& nvml) {
  std::vector<known_gpu> result;
  for (const auto& seen : devices.driver_gpus()) {
    const auto* measured = same_gpu(nvml, seen);
    result.push_back({seen, measured == nullptr ? std::nullopt : std::optional{*measured}});
  }
  if (result.empty()) {
    for (const auto& each : nvml.gpus) {
      result.push_back({{"", each.uuid, each.name, each.minor, false}, each});
    }
  }
  return result;
}

std::string title(const known_gpu& x) {
  const auto& seen = x.seen;
  const auto& place = seen.uuid.empty() ? seen.bus : seen.uuid;
  return (place.empty() ? "a GPU" : place) + (seen.model.empty() ? "" : " (" + seen.model + ")");
}

std::string node_problem(const device_layer& devices, const std::vector<std::string>& nodes) {
  for (const auto& node : nodes) {
    const auto state = devices.state_of(node);
    if (state == node_state::absent) {
      return node + " is missing: `nvidia-modprobe -u -c 0` as root makes it; in a container pass the device in";
    }
    if (state == node_state::forbidden) {
      return "no right to open " + node + ": join its group, or make it mode 0666";
    }
  }
  return {};
}

gpu make_gpu(const known_gpu& x, const device_layer& devices) {
  gpu out;
  out.uuid = x.seen.uuid.empty() && x.measured ? x.measured->uuid : x.seen.uuid;
  out.name = x.seen.model.empty() && x.measured ? x.measured->name : x.seen.model;
  out.minor = x.seen.minor.value_or(0);
  out.memory = x.measured ? x.measured->memory : 0;
  out.compute_capability = x.measured ? x.measured->compute_capability : "";
  out.memory_bytes_per_s = x.measured ? x.measured->memory_bytes_per_s : 0;
  out.device_nodes = devices.nodes_of(out.minor);
  return out;
}

std::string why_not(const known_gpu& x, const gpu& made, const device_layer& devices) {
  if (x.seen.is_excluded) {
    return "the driver excludes it";
  }
  if (!x.seen.minor) {
    return "the driver names no device minor for it";
  }
  if (x.measured && x.measured->is_split) {
    return "MIG mode is on, and a lease is a whole GPU: `nvidia-smi -mig 0` as root";
  }
  if (auto problem = node_problem(devices, made.device_nodes); !problem.empty()) {
    return problem;
  }
  return made.uuid.empty() ? "its UUID is not known yet: run `nvidia-smi -L` once" : "";
}

void warn(gpu_inventory& out, const known_gpu& x) {
  if (x.measured && x.measured->memory_used >= foreign_memory) {
    out.warnings.push_back(title(x) + ": " + std::to_string(x.measured->memory_used / GiB) + " GiB of " +
                           std::to_string(x.measured->memory / GiB) + " GiB are in use by others");
  }
}

std::optional<gpu> named(const std::vector<gpu>& gpus, std::string_view entry) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  if (error == std::errc{} && end == entry.data() + entry.size()) {
    return index < gpus.size() ? std::optional{gpus[index]} : std::nullopt;
  }
  const auto is_it = [&](const gpu& x) { return entry.starts_with("GPU-") && x.uuid.starts_with(entry); };
  const auto at = std::ranges::find_if(gpus, is_it);
  return std::ranges::count_if(gpus, is_it) == 1 ? std::optional{*at} : std::nullopt;
}

bool are_alike(const std::vector<gpu>& gpus) {
  return std::ranges::all_of(gpus, [&](const gpu& x) { return x.name == gpus.front().name; });
}

/// CUDA's own default order is by speed, which NVML does not tell.
bool order_is_unsure(const std::vector<gpu>& gpus, const std::map<std::string, std::string>& environment,
                     const std::string& visible) {
  const auto order = environment.find("CUDA_DEVICE_ORDER");
  const bool by_bus = order != environment.end() && order->second == "PCI_BUS_ID";
  return !by_bus && !are_alike(gpus) && visible.find_first_of("0123456789") == 0;
}

void apply_visible(gpu_inventory& out, const std::map<std::string, std::string>& environment) {
  const auto at = environment.find("CUDA_VISIBLE_DEVICES");
  if (at == environment.end()) {
    return;
  }
  if (order_is_unsure(out.gpus, environment, at->second)) {
    out.warnings.emplace_back(
        "CUDA_VISIBLE_DEVICES counts unlike GPUs; read in PCI bus order (CUDA_DEVICE_ORDER=PCI_BUS_ID says so, too)");
  }
  const auto all = std::exchange(out.gpus, restrict_to_visible(out.gpus, at->second));
  for (const auto& each : all) {
    const bool is_kept = std::ranges::any_of(out.gpus, [&](const gpu& x) { return x.uuid == each.uuid; });
    if (!is_kept) {
      out.left_out.push_back(each.uuid + " (" + each.name + "): not in CUDA_VISIBLE_DEVICES");
    }
  }
}

}  // namespace

std::vector<gpu> restrict_to_visible(const std::vector<gpu>& gpus, const std::string& visible) {
  std::vector<gpu> kept;
  for (std::size_t at = 0; at < visible.size();) {
    const auto end = std::min(visible.find(',', at), visible.size());
    auto entry = std::string_view{visible}.substr(at, end - at);
    at = end + 1;
    while (entry.starts_with(' ')) {
      entry.remove_prefix(1);
    }
    while (entry.ends_with(' ')) {
      entry.remove_suffix(1);
    }
    const auto found = named(gpus, entry);
    const bool is_twice = found && std::ranges::any_of(kept, [&](const gpu& x) { return x.uuid == found->uuid; });
    if (is_twice) {
      return {};
    }
    if (!found) {
      break;
    }
    kept.push_back(*found);
  }
  return kept;
}

gpu_inventory find_gpus(const device_layer& devices, const std::map<std::string, std::string>& environment) {
  gpu_inventory out;
  const auto nvml = devices.nvml();
  const auto known = join(devices, nvml);
  if (nvml.state == nvml_state::blocked || nvml.state == nvml_state::failed) {
    out.warnings.push_back(nvml.text + ": memory and compute capability of the GPUs are unknown");
  }
  for (const auto& each : known) {
    auto made = make_gpu(each, devices);
    if (const auto reason = why_not(each, made, devices); !reason.empty()) {
      out.left_out.push_back(title(each) + ": " + reason);
      continue;
    }
    warn(out, each);
    out.gpus.push_back(std::move(made));
  }
  apply_visible(out, environment);
  return out;
}

std::vector<std::uint64_t> free_memory(const std::vector<gpu>& gpus, const nvml_answer& nvml) {
  std::vector<std::uint64_t> out;
  for (const auto& each : gpus) {
    const auto at = std::ranges::find(nvml.gpus, each.uuid, &nvml_gpu::uuid);
    if (at == nvml.gpus.end() || at->memory == 0) {
      return {};
    }
    out.push_back(at->memory - std::min(at->memory, at->memory_used));
  }
  return out;
}

fake_devices healthy_fake_gpus(std::uint32_t count) {
  fake_devices host;
  host.management.state = nvml_state::answered;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto number = std::to_string(i);
    host.driver.push_back({"0000:0" + number + ":00.0", "GPU-fake-" + number, "Fake GPU", i, false});
    host.management.gpus.push_back({"GPU-fake-" + number, "Fake GPU", i, 80 * GiB, 0, "9.0", false});
  }
  return host;
}

}  // namespace regatta
