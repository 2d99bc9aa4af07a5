// SPDX-License-Identifier: Apache-2.0
// Writes race after race into the store at argv[1], names argv[2]0, argv[2]1 …, and says each one that is committed
// on stdout. Ends only when it is killed, or after argv[3] races.
#include "actors/store.hpp"
#include "messages/opaque.hpp"
#include "tests/actors/store/scripted_race.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace regatta;

int main(int argc, char** argv) {
  if (argc != 4) {
    return 2;
  }
  caf::actor_system_config config;
  config.set("scheduler.max-threads", 1U);
  config.set("logger.file-verbosity", caf::atom("quiet"));
  caf::actor_system system{config};
  auto store = spawn_store(system, {argv[1], std::chrono::milliseconds{1}, {}});
  if (!store) {
    std::printf("failed %s\n", describe(store.error()).c_str());
    return 1;
  }
  int status = 0;
  const int count = std::atoi(argv[3]);
  for (int i = 0; i < count && status == 0; ++i) {
    const auto race = test::won_race(argv[2] + std::to_string(i));
    for (const auto& x : race.events) {
      caf::anon_send(*store, x);
    }
    caf::scoped_actor self{system};
    self->request(*store, std::chrono::seconds{30}, commit{race.spec.race, race.events.size()})
        .receive(
            [&](const committed& x) {
              std::printf("committed %s\n", x.race.text.c_str());
              std::fflush(stdout);
            },
            [&](const caf::error& why) {
              std::printf("failed %s\n", describe(why).c_str());
              status = 1;
            });
  }
  caf::anon_send_exit(*store, caf::exit_reason::user_shutdown);
  return status;
}
