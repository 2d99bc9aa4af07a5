// SPDX-License-Identifier: Apache-2.0
#include "actors/run_directory.hpp"

#include "tests/actors/store/scratch_folder.hpp"
#include "tests/actors/store/scripted_race.hpp"
#include "tests/support/printing.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

using namespace regatta;
using namespace regatta::test;
using nlohmann::json;

namespace {

struct projected {
  explicit projected(const scripted_race& race)
      : folder{root.path + "/" + race.spec.race.text},
        run{folder, race.events.front(), std::get<race_started>(race.events.front().body)} {
    for (const auto& x : race.events) {
      run.apply(x);
    }
    const auto error = run.flush();
    BOOST_TEST(!error, describe(error));
  }
  std::string text(const std::string& path) const { return read_file(folder + "/" + path); }
  json parsed(const std::string& path) const { return json::parse(text(path)); }
  bool has(const std::string& path) const { return std::filesystem::exists(folder + "/" + path); }

  scratch_folder root;
  std::string folder;
  run_directory run;
};

std::string shell(const std::string& command) {
  std::string out;
  auto* pipe = ::popen(command.c_str(), "r");
  BOOST_REQUIRE(pipe != nullptr);
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    out += static_cast<char>(c);
  }
  BOOST_TEST(::pclose(pipe) == 0, command);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run_directories)

BOOST_AUTO_TEST_CASE(a_won_race_has_kernelagents_files_and_names) {
  const auto race = won_race("run_1");
  const projected it{race};
  const std::vector<std::string> expected = {
      "orchestrator/metadata.json",
      "orchestrator/orchestrator.log",
      "orchestrator/stream.log",
      "orchestrator/summary.json",
      "orchestrator/winner/iter.txt",
      "orchestrator/winner/worker_id.txt",
      "result.tar.gz",
      "shared/digests/" + digest_of_source("x = 1\n").text + ".json",
      "shared/digests/" + digest_of_source("y = 1\n").text + ".json",
      "shared/digests/" + digest_of_source("y = 2\n").text + ".json",
      "workers/worker_02/artifacts/iteration_1/code.py",
      "workers/worker_02/artifacts/iteration_2/code.py",
      "workers/worker_02/artifacts/latest/code.py",
      "workers/worker_02/logs/worker.log",
      "workers/worker_02/prompts/iteration_1.txt",
      "workers/worker_02/prompts/iteration_2.txt",
      "workers/worker_02/responses/iteration_1.final.json",
      "workers/worker_02/responses/iteration_1.stream.jsonl",
      "workers/worker_02/responses/iteration_2.final.json",
      "workers/worker_02/responses/iteration_2.stream.jsonl",
      "workers/worker_02/state.json",
  };
  for (const auto& path : expected) {
    BOOST_TEST(it.has(path), path);
  }
  BOOST_TEST(it.text("orchestrator/winner/worker_id.txt") == "worker_02");
  BOOST_TEST(it.text("orchestrator/winner/iter.txt") == "2");
  BOOST_TEST(it.text("workers/worker_02/artifacts/latest/code.py") == "y = 2\n");
  BOOST_TEST(it.text("workers/worker_01/prompts/iteration_1.txt") == "Solve softmax.");
  for (const auto& path : files_below(it.folder)) {
    BOOST_TEST(path.find(".tmp") == std::string::npos, path);
  }
}

BOOST_AUTO_TEST_CASE(the_summary_keeps_kernelagents_four_fields_and_adds_ours) {
  const projected it{won_race("run_1")};
  const auto summary = it.parsed("orchestrator/summary.json");
  BOOST_TEST(summary["run_id"] == "run_1");
  BOOST_TEST(summary["winner_worker_id"] == "worker_02");
  BOOST_TEST(summary["artifact_path"] == it.folder + "/result.tar.gz");
  BOOST_TEST(summary["reason"] == "pass via run_tests at iter 2");
  BOOST_TEST(summary["schema_version"] == 1);
  BOOST_TEST(summary["end"] == "won");
  BOOST_TEST(summary["standing"] == "claimed, not verified");
  BOOST_TEST(summary["winner_round"] == 2);
  BOOST_TEST(summary["decided_ms"] == 400.25);
  BOOST_TEST(summary["cancel_ms"] == 1.5);
  BOOST_TEST(summary["quiet_ms"] == 20.0);
  BOOST_TEST(summary["elapsed_ms"] == 450.0);
  BOOST_TEST(summary["unconfirmed_nodes"] == json::array({"host-z"}));
  BOOST_TEST(summary["stage"] == "kernel");
  BOOST_TEST(summary["accept"] == "claimed");
  BOOST_TEST(summary["sandbox_level"] == "L4");
  BOOST_TEST(summary["engine"] == "triton-interpreter");
  BOOST_TEST(summary["node"] == "host-a");
  BOOST_TEST(summary["totals"]["input_tokens"] == 300);
  BOOST_REQUIRE(summary["workers"].size() == 2);
  BOOST_TEST(summary["workers"][0]["worker_id"] == "worker_01");
  BOOST_TEST(summary["workers"][0]["end"] == "cancelled");
  BOOST_TEST(summary["workers"][0]["last_failure"] == "exit status 1");
  BOOST_TEST(summary["workers"][1]["end"] == "won");
  BOOST_TEST(summary["workers"][1]["rounds"] == 2);
  BOOST_TEST(summary["workers"][1]["input_tokens"] == 200);
  BOOST_TEST(summary["workers"][1]["temperature"] == 0.5);
  BOOST_TEST(summary["workers"][1]["seed"].is_null());
}

BOOST_AUTO_TEST_CASE(metadata_and_state_keep_kernelagents_names) {
  const projected it{won_race("run_1")};
  const auto metadata = it.parsed("orchestrator/metadata.json");
  BOOST_TEST(metadata["run_id"] == "run_1");
  BOOST_TEST(metadata["config"]["problem_path"] == "/problems/softmax.py");
  BOOST_TEST(metadata["config"]["model"] == "gpt-x");
  BOOST_TEST(metadata["config"]["workers"] == 2);
  BOOST_TEST(metadata["config"]["max_iters"] == 3);
  BOOST_TEST(metadata["config"]["run_timeout_s"] == 180.0);
  BOOST_TEST(metadata["schema_version"] == 1);
  const auto state = it.parsed("workers/worker_02/state.json");
  BOOST_TEST(state["worker_id"] == "worker_02");
  BOOST_TEST(state["iter_index"] == 2);
  BOOST_TEST(state["last_response_id"] == "resp_2");
  BOOST_TEST(state["last_error"] == "RUN_FAIL: exit status 1");
  BOOST_TEST(state["passed"] == true);
  BOOST_TEST(it.parsed("workers/worker_01/state.json")["passed"] == false);
  const auto reply = it.parsed("workers/worker_02/responses/iteration_2.final.json");
  BOOST_TEST(reply["output_text"] == "```python\ny = 2\n```\n");
  BOOST_TEST(reply["response_id"] == "resp_2");
  BOOST_TEST(reply["error"].is_null());
  const auto digest = it.parsed("shared/digests/" + digest_of_source("y = 2\n").text + ".json");
  BOOST_TEST(digest["owner_worker_id"] == "worker_02");
  BOOST_TEST(digest["iter"] == 2);
  BOOST_TEST(digest["ts"].is_number_float());
}

BOOST_AUTO_TEST_CASE(a_run_has_the_candidate_its_output_and_its_record) {
  auto result = scripted_race::result(true);
  result.kept = {{"out.csv", std::string{"1,2\0\xFF", 5}, ""}, {"missing.txt", "", "absent"}};
  const projected it{won_race("run_1", result)};
  std::vector<std::string> names;
  for (const auto& path : files_below(it.folder + "/workers/worker_02/runs/iteration_2")) {
    BOOST_TEST(path.starts_with("attempt_" + std::to_string((race_start_us + 5'000) / 1000) + "_"), path);
    names.push_back(path.substr(path.find('/') + 1));
  }
  const std::vector<std::string> expected = {"EXEC_FINISHED",     "EXEC_STARTED",    "artifacts/out.csv",
                                             "candidate_main.py", "evaluation.json", "stderr.txt",
                                             "stdout.txt"};
  BOOST_TEST(names == expected, boost::test_tools::per_element());
  const auto attempt = shell("ls " + it.folder + "/workers/worker_02/runs/iteration_2");
  const auto run = "workers/worker_02/runs/iteration_2/" + attempt.substr(0, attempt.size() - 1);
  BOOST_TEST(it.text(run + "/candidate_main.py") == "y = 2\n");
  BOOST_TEST(it.text(run + "/stdout.txt") == "PASS\n");
  BOOST_TEST(it.text(run + "/EXEC_STARTED") == "1796079082.005000");
  BOOST_TEST(it.text(run + "/artifacts/out.csv") == (std::string{"1,2\0\xFF", 5}));
  const auto record = it.parsed(run + "/evaluation.json");
  BOOST_TEST(record["outcome"] == "exited");
  BOOST_TEST(record["claim"] == "run_tests");
  BOOST_TEST(record["is_accepted"] == true);
  BOOST_TEST(!record.contains("stdout_text"));
  BOOST_TEST(record["kept"][1]["problem"] == "absent");
}

BOOST_AUTO_TEST_CASE(the_archive_holds_code_and_the_winning_run_and_is_the_same_every_time) {
  const projected first{won_race("run_1")};
  const projected second{won_race("run_1")};
  BOOST_TEST((first.text("result.tar.gz") == second.text("result.tar.gz")));
  BOOST_TEST((first.text("result.tar.gz").substr(4, 4) == std::string(4, '\0')),
             "gzip's header says no time (RFC 1952)");
  const auto list = shell("tar -tzf " + first.folder + "/result.tar.gz");
  BOOST_TEST(list.starts_with("code.py\nruns/attempt_"), list);
  BOOST_TEST(list.find("/stdout.txt\n") != std::string::npos, list);
  BOOST_TEST(shell("tar -xzOf " + first.folder + "/result.tar.gz code.py") == "y = 2\n");
  const auto attempt = shell("ls " + first.folder + "/workers/worker_02/runs/iteration_2");
  BOOST_TEST(list.find("runs/" + attempt.substr(0, attempt.size() - 1) + "/candidate_main.py") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_race_without_winner_has_a_summary_and_no_archive) {
  const projected it{lost_race("run_2")};
  const auto summary = it.parsed("orchestrator/summary.json");
  BOOST_TEST(summary["winner_worker_id"].is_null());
  BOOST_TEST(summary["artifact_path"].is_null());
  BOOST_TEST(summary["standing"].is_null());
  BOOST_TEST(summary["reason"] == "no_passing_solution");
  BOOST_TEST(summary["workers"][1]["end"] == "llm_failed");
  BOOST_TEST(!it.has("result.tar.gz"));
  BOOST_TEST(!it.has("orchestrator/winner"));
  BOOST_TEST(it.run.artifact_path().empty());
}

BOOST_AUTO_TEST_CASE(an_unproven_candidate_is_kept_and_did_not_win) {
  scripted_race race{"run_9"};
  race.spec.accept = accept_rule::verified;
  race.start();
  auto right = scripted_race::result(true);
  right.claim = claim::none;
  right.judgement = judgement::weak_oracle;
  race.ask(1, 1, "```python\nx = 0\n```\n").find(1, 1, "x = 0\n").evaluate(1, 1, "x = 0\n", right);
  race.finish(1, worker_end::problem_failed, "weak_oracle");
  race_ended end;
  end.end = race_end::weak_oracle;
  end.unproven = make_worker_id(1);
  end.unproven_round = 1;
  race.add(end);
  const projected it{race};
  BOOST_TEST(it.text("orchestrator/unproven/code.py") == "x = 0\n");
  BOOST_TEST(it.text("orchestrator/unproven/worker_id.txt") == "worker_01");
  const auto summary = it.parsed("orchestrator/summary.json");
  BOOST_TEST(summary["unproven"]["round"] == 1);
  BOOST_TEST(summary["winner_worker_id"].is_null());
  BOOST_TEST(summary["end"] == "weak_oracle");
  BOOST_TEST(!it.has("result.tar.gz"));
}

BOOST_AUTO_TEST_CASE(a_cancelled_race_says_so_and_keeps_what_was_streamed) {
  const projected it{cancelled_race("run_3")};
  BOOST_TEST(it.parsed("orchestrator/summary.json")["reason"] == "canceled");
  BOOST_TEST(it.text("orchestrator/stream.log") == "[worker_01] half \n[worker_01] a rep\n");
  BOOST_TEST(it.text("workers/worker_01/logs/worker.log").find("worker ended: cancelled: Ctrl-C\n") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_failed_packing_keeps_the_winner_and_says_why) {
  const auto race = won_race("run_1");
  scratch_folder root;
  const auto folder = root.path + "/run_1";
  // A folder that is not empty cannot be replaced by a file.
  std::filesystem::create_directories(folder + "/result.tar.gz/in the way");
  run_directory run{folder, race.events.front(), std::get<race_started>(race.events.front().body)};
  for (const auto& x : race.events) {
    run.apply(x);
  }
  BOOST_TEST(!run.flush());
  const auto summary = json::parse(read_file(folder + "/orchestrator/summary.json"));
  BOOST_TEST(summary["winner_worker_id"] == "worker_02");
  BOOST_TEST(summary["artifact_path"].is_null());
  BOOST_TEST(summary["reason"].get<std::string>().starts_with("packaging_failure: cannot rename to"));
  BOOST_TEST(run.artifact_path().empty());
}

BOOST_AUTO_TEST_CASE(no_name_from_outside_leaves_the_folder) {
  for (const std::string evil :
       {"../../escape", "/etc/escape", "..", ".", "", "a/../../escape", "escape\n", ".hidden"}) {
    scripted_race race{"run_1", 1};
    race.spec.workers.front().worker = worker_id{evil};
    auto result = scripted_race::result(true);
    result.kept = {{evil, "content", ""}};
    race.add(race_started{race.spec, "0.1.0"});
    race.add(prompt_sent{worker_id{evil}, 1, 1, {}, "user", "digest"});
    race.add(code_extracted{worker_id{evil}, 1, 1, extraction::found, "", "x\n", source_digest{evil}});
    race.add(candidate_reserved{worker_id{evil}, 1, 1, source_digest{evil}, duplicate::unique, worker_id{evil}});
    race.add(candidate_evaluated{worker_id{evil}, 1, 1, source_digest{evil}, result, true});
    race.add(winner_decided{worker_id{evil}, 1, source_digest{evil}, "x\n", result, "claimed, not verified"});
    race.end(race_end::won, "pass", 1, 1);
    const projected it{race};
    BOOST_TEST(files_below(it.root.path).size() == files_below(it.folder).size(), evil);
    BOOST_TEST(!std::filesystem::exists("/etc/escape"));
    const auto list = shell("tar -tzf " + it.folder + "/result.tar.gz");
    BOOST_TEST(list.find("../") == std::string::npos, list);
    BOOST_TEST(list.find("/..") == std::string::npos, list);
  }
}

BOOST_AUTO_TEST_CASE(folders_and_files_belong_to_their_user_alone) {
  const projected it{won_race("run_1")};
  for (const std::string path : {"", "/orchestrator", "/workers/worker_01", "/orchestrator/summary.json"}) {
    struct stat facts = {};
    BOOST_REQUIRE(::stat((it.folder + path).c_str(), &facts) == 0);
    BOOST_TEST((facts.st_mode & 077U) == 0U, path);
  }
}

BOOST_AUTO_TEST_CASE(control_sequences_of_a_model_do_not_reach_logs) {
  scripted_race race{"run_1", 1};
  race.start();
  race.add(reply_delta{make_worker_id(1), 1, 1,
                       "a\x1b[31mred\xC2\x9B"
                       "b\r\n"});
  race.add(round_failed{make_worker_id(1), 1, "bad\n\x1b]0;title\x07", "context"});
  const projected it{race};
  BOOST_TEST(it.text("orchestrator/stream.log") == "[worker_01] a[31mredb\n\n");
  BOOST_TEST(it.text("workers/worker_01/logs/worker.log").find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
