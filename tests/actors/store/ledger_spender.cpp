// SPDX-License-Identifier: Apache-2.0
// Spends from the day budget of the store at argv[1] for race argv[2] until it is gone; argv[3]: limit, argv[4]: seed, argv[5]: how
// many races the store must have before it begins.
// After every answer it looks that no more is spent and reserved than the limit. Prints "spent <calls> <cost>".
#include "actors/store_schema.hpp"
#include "actors/store_writer.hpp"
#include "tests/actors/store/scripted_race.hpp"

#include <poll.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace regatta;

namespace {

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

struct spender {
  std::unique_ptr<store_writer> writer;
  std::unique_ptr<database> eyes;
  nano_units limit = 0;
  bool is_good = true;

  ledger_answer ask(ledger_question x) {
    std::map<race_id, caf::error> refused;
    std::vector<ledger_answer> answers;
    const std::vector<ledger_question> all = {std::move(x)};
    if (auto error = writer->write({}, all, now_us(), refused, answers)) {
      return error;
    }
    look();
    return std::move(answers.front());
  }
  void look() {
    nano_units most = 0;
    const auto error = eyes->each("SELECT max(cost + reserved) FROM budget_totals WHERE scope = 'day'",
                                  [&](result_row& row) { row.read(most); });
    is_good = is_good && !error && most <= limit;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    return 2;
  }
  auto opened = open_store(argv[1]);
  auto eyes = open_store_read_only(argv[1]);
  if (!opened || !eyes) {
    std::printf("cannot open: %s\n", describe(!opened ? opened.error() : eyes.error()).c_str());
    return 1;
  }
  spender us{std::make_unique<store_writer>(std::move(opened->db), argv[1], this_process()), std::move(*eyes),
             std::atoll(argv[3]), true};
  test::scripted_race race{argv[2], 1};
  race.start();
  std::map<race_id, caf::error> refused;
  if (auto error = us.writer->write(race.events, now_us(), refused)) {
    std::printf("cannot begin: %s\n", describe(error).c_str());
    return 1;
  }
  // The other one must be there, too, or there is nothing to share.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  for (int races = 0; races < std::atoi(argv[5]) && std::chrono::steady_clock::now() < give_up;) {
    if (us.eyes->each("SELECT count(*) FROM races", [&](result_row& row) { row.read(races); })) {
      return 1;
    }
    std::this_thread::yield();
  }
  std::mt19937 random{static_cast<unsigned>(std::atoi(argv[4]))};
  std::vector<std::pair<std::uint64_t, nano_units>> open;
  std::uint64_t calls = 0;
  nano_units cost = 0;
  for (std::uint32_t number = 1;; ++number) {
    open_call x;
    x.race = race.spec.race;
    x.worker = make_worker_id(1);
    x.round = number;
    x.attempt = 1;
    x.choice = race.spec.workers.front().choice;
    x.reserved = std::uniform_int_distribution<nano_units>{1, 50}(random);
    x.day_budget.money = us.limit;
    // A model takes longer than that; without it the lock never lies free for long enough to be found so.
    ::poll(nullptr, 0, 2);
    const auto answer = us.ask(x);
    const auto* got = std::get_if<call_opened>(&answer);
    const auto* no = std::get_if<caf::error>(&answer);
    if (got != nullptr) {
      open.emplace_back(got->call, x.reserved);
    }
    // Eight at once; and all of them once nothing fits.
    while (!open.empty() && (got == nullptr || open.size() >= 8)) {
      close_call y;
      y.call = open.front().first;
      y.is_answer = true;
      y.ended.outcome = llm_outcome::replied;
      y.ended.cost = std::uniform_int_distribution<nano_units>{0, open.front().second}(random);
      y.ended.basis = charge_basis::usage;
      us.ask(y);
      ++calls;
      cost += y.ended.cost;
      open.erase(open.begin());
    }
    if (no != nullptr && code_of(*no) == ec::budget_spent) {
      break;
    }
    if (no != nullptr && code_of(*no) != ec::refused) {
      std::printf("failed %s\n", describe(*no).c_str());
      return 1;
    }
  }
  std::printf("spent %llu %lld\n", static_cast<unsigned long long>(calls), static_cast<long long>(cost));
  return us.is_good ? 0 : 3;
}
