// SPDX-License-Identifier: Apache-2.0
// A run that starts warm behaves as the same run started cold: each case is run both ways.
#include "tests/sandbox/support/sandbox_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <future>
#include <string>
#include <vector>

namespace regatta::sandbox::test {

namespace {

struct program {
  const char* name;
  const char* source;
};

run_spec spec_of(const std::string& source, bool is_warm, const std::vector<std::string>& flags = {"-s", "-B", "-u"}) {
  auto spec = python_spec(source);
  spec.argv = {host().python.executable};
  spec.argv.insert(spec.argv.end(), flags.begin(), flags.end());
  spec.argv.insert(spec.argv.end(), {"candidate_main.py", "one", "-u", ""});
  spec.preload.reset();
  if (is_warm) {
    spec.preload = {"json", "random", "multiprocessing", "dataclasses", "no_such_module"};
  }
  return spec;
}

void must_agree(runner& sandbox, const program& what, const std::vector<std::string>& flags) {
  BOOST_TEST_CONTEXT(what.name << (flags.empty() ? "" : " " + flags.back())) {
    auto cold_spec = spec_of(what.source, false, flags), warm_spec = spec_of(what.source, true, flags);
    for (auto* spec : {&cold_spec, &warm_spec}) {
      spec->files.push_back({"sibling.py", "value = 7\n"});
      spec->keep = {"kept.txt"};
      spec->limits.wall = std::chrono::seconds{8};
    }
    const auto cold = run(sandbox, std::move(cold_spec));
    const auto warm = run(sandbox, std::move(warm_spec));
    BOOST_TEST((warm.outcome == cold.outcome), warm.reason << " / " << cold.reason << warm.stderr_kept);
    BOOST_TEST((warm.claim == cold.claim));
    BOOST_TEST(warm.exit_code == cold.exit_code);
    BOOST_TEST(warm.signal == cold.signal);
    BOOST_TEST(warm.stdout_kept == cold.stdout_kept);
    BOOST_TEST(warm.stderr_kept == cold.stderr_kept);
    BOOST_TEST(warm.left_behind == cold.left_behind);
    BOOST_TEST(warm.kept.front().content == cold.kept.front().content);
    BOOST_TEST(warm.kept.front().problem == cold.kept.front().problem);
  }
}

const program programs[] = {
    {"nothing", ""},
    {"ends with a number", "import sys\nsys.exit(3)"},
    {"ends with None", "import sys\nsys.exit(None)"},
    {"ends with True", "raise SystemExit(True)"},
    {"ends with a large number", "raise SystemExit(300)"},
    {"ends with a negative number", "raise SystemExit(-1)"},
    {"ends with a huge number", "raise SystemExit(2**70)"},
    {"ends with a text", "import sys\nsys.exit('no way')"},
    {"ends with an object", "raise SystemExit(ValueError(1))"},
    {"ends at once", "import os, sys\nprint('PASS', end='')\nos._exit(4)"},
    {"raises", "def f(x):\n  return 1 / x\n\nprint('PASS')\nf(0)\n"},
    {"raises from another", "try:\n  {}['a']\nexcept KeyError as e:\n  raise RuntimeError('two') from e\n"},
    {"is no Python", "x = (1,\nif\n"},
    {"is no text", "x = 1\0"},
    {"has another encoding", "# -*- coding: latin-1 -*-\nprint(ascii('\xe4'))\n"},
    {"is interrupted", "raise KeyboardInterrupt"},
    {"interrupts itself", "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"},
    {"is terminated", "import os, signal, time\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(5)\n"},
    {"crashes", "import ctypes\nctypes.string_at(0)"},
    {"writes into a closed pipe", "import os\nr, w = os.pipe()\nos.close(r)\nos.write(w, b'x')\n"},
    {"replaces its hook", "import sys\nsys.excepthook = lambda *x: print('mine', x[0].__name__)\n1 / 0\n"},
    {"has a broken hook", "import sys\ndef hook(*x):\n  raise ValueError('hook')\nsys.excepthook = hook\n1 / 0\n"},
    {"has last wishes", "import atexit\natexit.register(print, 'one')\natexit.register(print, 'two')\nprint('main')\n"},
    {"has a last wish that raises", "import atexit\nclass W:\n  __repr__ = lambda self: 'W'\n  def __call__(self):\n    1 / 0\natexit.register(W())\nprint('main')\n"},
    {"closes its output", "import sys\nprint('PASS')\nsys.stdout.close()\n"},
    {"loses its output", "import os, sys\nos.close(1)\nprint('x')\n"},
    {"prints in order",
     "import sys, os\nfor i in range(50):\n  print(i)\n  os.write(1, b'raw\\n')\n  print(-i, file=sys.stderr)\n"},
    {"prints what has no encoding", "import sys\nprint('\\udc80', file=sys.stderr)\nprint('\\udc80')\n"},
    {"waits for its threads",
     "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.3), print('late'))).start()\nprint('main')\n"},
    {"leaves a daemon thread",
     "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\nprint('PASS')\n"},
    {"reads its input", "import sys\nprint(repr(sys.stdin.read()), sys.stdin.fileno())\n"},
    {"imports its sibling", "import sibling\nprint(sibling.value, sibling.__file__, sibling.__spec__.origin)\n"},
    {"has a main guard", "if __name__ == '__main__':\n  print('PASS')\n"},
    {"is found by pickle",
     "import pickle\nclass A: pass\nprint(pickle.loads(pickle.dumps(A())).__class__ is A, A.__module__)\n"},
    {"has a dataclass of strings",
     "from __future__ import annotations\nimport dataclasses\n@dataclasses.dataclass\nclass A:\n  x: int = 3\nprint(A())\n"},
    {"spawns", "import multiprocessing as m\ndef f(x):\n  return x * x\nif __name__ == '__main__':\n"
               "  with m.get_context('spawn').Pool(1) as p:\n    print(p.map(f, [1, 2]))\n"},
    {"forks", "import multiprocessing as m\ndef f(x):\n  return x * x\nif __name__ == '__main__':\n"
              "  with m.get_context('fork').Pool(2) as p:\n    print(p.map(f, [1, 2, 3]))\n"},
    {"starts Python", "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(1)'], "
                      "capture_output=True))\n"},
    {"keeps a file", "open('kept.txt', 'w').write('kept')\n"},
    {"sees itself", "import sys, os\nprint(sys.argv, sys.orig_argv, sys.path, sys.flags, __file__, __name__, __package__, "
                    "__spec__, __doc__, __cached__, __annotations__, type(__loader__).__mro__[-4:], sys.executable)\n"
                    "print(sorted(globals()), __builtins__, os.getcwd(), sorted(os.environ.items()))\n"
                    "print(sys.modules['__main__'].__dict__ is globals(), sys._getframe().f_code.co_filename)\n"},
    {"sees its streams",
     "import sys\nfor f in (sys.stdin, sys.stdout, sys.stderr):\n  print(f, f.encoding, f.errors, f.line_buffering, "
     "f.write_through, f.newlines, f.mode, f.buffer, f.seekable(), f.isatty())\n"},
    {"sees its signals",
     "import signal\nprint([(x.name, str(signal.getsignal(x))) for x in sorted(signal.valid_signals()) if "
     "hasattr(x, 'name')], signal.pthread_sigmask(signal.SIG_BLOCK, []))\n"},
    {"sees its command line",
     "print([x for x in open('/proc/self/cmdline').read().split('\\0') if x])\n"},
    {"sees its process",
     "import os, resource\nkeys = ('Name', 'Umask', 'Tgid', 'Pid', 'PPid', 'Uid', 'Gid', 'Groups', 'NSpid', 'Sig', 'Shd', 'Cap', "
     "'NoNew', 'Seccomp', 'Threads')\nprint([x for x in open('/proc/self/status').read().split('\\n') if x.startswith(keys)])\n"
     "print([resource.getrlimit(getattr(resource, x)) for x in sorted(dir(resource)) if x.startswith('RLIMIT_')])\n"
     "print(os.getpriority(0, 0), os.sched_getscheduler(0), os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid())\n"
     "print(sorted(os.readlink('/proc/self/fd/' + x).split(':')[0] for x in '012'), os.listdir('/proc/self/fd'))\n"
     "print([oct(os.stat('/proc/self/' + x).st_mode) + str(os.stat('/proc/self/' + x).st_uid) for x in ('mem', 'fd')])\n"},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(warm)

BOOST_AUTO_TEST_CASE(a_warm_run_behaves_as_a_cold_one) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  for (const auto& what : programs) {
    must_agree(*sandbox, what, {"-s", "-B", "-u"});
  }
}

BOOST_AUTO_TEST_CASE(so_it_does_with_buffers_and_isolated) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  for (const auto& what : programs) {
    const std::string name = what.name;
    for (const char* chosen : {"ends at once", "ends with a text", "loses its output", "prints in order", "raises",
                               "reads its input", "sees itself", "sees its streams", "imports its sibling"}) {
      if (name == chosen) {
        must_agree(*sandbox, what, {});
        must_agree(*sandbox, what, {"-I", "-B"});
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_of_one_run_is_there_in_the_next) {
  const leaves_nothing guard;
  const auto sandbox = open_runner();
  const auto poison = run(*sandbox, spec_of("import json, builtins, random, sys, os\n"
                                            "json.dumps = lambda x: 'poison'\nbuiltins.poison = 1\nrandom.seed(3)\n"
                                            "sys.path.append('/poison')\nos.environ['POISON'] = '1'\n"
                                            "open('poison', 'w').write('x')\nopen('/tmp/poison', 'w').write('x')\n",
                                            true));
  BOOST_TEST((poison.outcome == outcome::exited), poison.stderr_kept);
  const auto next = run(*sandbox, spec_of("import json, builtins, sys, os\n"
                                          "print(json.dumps([1]), hasattr(builtins, 'poison'), '/poison' in sys.path, "
                                          "'POISON' in os.environ, os.path.exists('poison'), os.path.exists('/tmp/poison'))",
                                          true));
  BOOST_TEST(next.stdout_kept == "[1] False False False False False\n");
}

BOOST_AUTO_TEST_CASE(two_runs_of_one_zygote_draw_different_numbers) {
  const auto sandbox = open_runner();
  const auto source = "import random\nprint(random.random(), random.SystemRandom().random())";
  const auto one = run(*sandbox, spec_of(source, true)), two = run(*sandbox, spec_of(source, true));
  BOOST_TEST(!one.stdout_kept.empty());
  BOOST_TEST(one.stdout_kept != two.stdout_kept);
}

BOOST_AUTO_TEST_CASE(what_is_no_script_of_the_run_starts_cold_and_says_so) {
  const auto sandbox = open_runner();
  for (std::vector<std::string> arguments : {std::vector<std::string>{"-c", "print(1)"}, {"-X", "dev", "candidate_main.py"},
                                             {"-m", "json.tool", "--help"}, {"/run/job/candidate_main.py"}}) {
    auto spec = spec_of("print(1)", true);
    spec.argv.assign({host().python.executable});
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    std::promise<run_result> ended;
    sandbox->start(std::move(spec), [&](run_result result) { ended.set_value(std::move(result)); });
    const auto result = ended.get_future().get();
    BOOST_TEST((result.outcome == outcome::exited), result.stderr_kept);
    BOOST_TEST(!result.is_warm);
    BOOST_TEST(!result.why_cold.empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace regatta::sandbox::test
