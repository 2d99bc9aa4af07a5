// SPDX-License-Identifier: Apache-2.0
#include "sandbox/root_fs.hpp"

#include "sandbox/interpreter.hpp"
#include "sandbox/linux_api.hpp"
#include "sandbox/readable_paths.hpp"
#include "sandbox/setup_error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace regatta::sandbox {

namespace {

using namespace linux_api;

struct bind {
  std::string path;
  unique_fd tree;
};

/// Everything of the host that goes in, opened before the new root hides anything.
struct assembled {
  std::vector<host_link> links;
  std::vector<bind> binds;
};

unique_fd open_bind(const std::string& path, std::uint64_t attributes) {
  unique_fd tree{clone_tree(path.c_str())};
  check_step(static_cast<bool>(tree), "open_tree " + path);
  check_step(set_tree_attributes(tree.get(), attributes) == 0, "mount_setattr " + path);
  return tree;
}

assembled assemble(const launch_plan& plan) {
  assembled host;
  std::string last;
  auto readable = resolve_readable(plan);
  host.links = std::move(readable.links);
  for (const auto& path : readable.real) {
    // In lexical order a folder comes before what is in it; binds are recursive, so that is in already. ("/usr" may
    // be followed by "/usr-x" before "/usr/lib": then the latter is bound once more, which harms nothing.)
    if (last.empty() || !is_within(path, last)) {
      host.binds.push_back({path, open_bind(path, attr_rdonly | attr_nosuid | attr_nodev)});
      last = path;
    }
  }
  for (const char* device : plain_devices) {
    host.binds.push_back({device, open_bind(device, attr_nosuid)});
  }
  check_devices(plan);
  for (const auto& device : plan.devices) {
    host.binds.push_back({device, open_bind(device, attr_nosuid)});
  }
  return host;
}

// From here on all paths are relative to the new root, which is the current folder.

/// Parents are 0755 whatever they are on the host: an interpreter may lie below a 0700 /root.
void make_parents(const std::string& path) {
  for (auto at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    if (at > 0) {
      ::mkdir(path.substr(0, at).c_str(), 0755);
    }
  }
}

void make_file(const char* path, std::string_view text) {
  const unique_fd file{::open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644)};
  check_step(file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()),
             std::string{"write "} + path);
}

void attach_bind(const bind& entry) {
  const auto target = entry.path.substr(1);
  struct stat info {};
  check_step(::fstat(entry.tree.get(), &info) == 0, "stat " + entry.path);
  make_parents(target);
  if (S_ISDIR(info.st_mode)) {
    ::mkdir(target.c_str(), 0755);
  } else {
    unique_fd{::open(target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644)};
  }
  check_step(attach_tree(entry.tree.get(), AT_FDCWD, target.c_str()) == 0, "bind " + entry.path);
}

void attach_tmpfs(const char* target, const char* mode, const launch_plan& plan, unique_fd* keep) {
  unique_fd tree{make_tmpfs(plan.limits.disk, mode, attr_nosuid | attr_nodev, plan.uid)};
  check_step(tree && attach_tree(tree.get(), AT_FDCWD, target) == 0, std::string{"mount tmpfs "} + target);
  if (keep != nullptr) {
    *keep = std::move(tree);
  }
}

void make_system_files() {
  // Uid 1000 is what our own uid is mapped to in a user namespace; a slot uid has no name, which nothing needs.
  make_file("etc/passwd", "root:x:0:0::/nonexistent:/usr/sbin/nologin\njob:x:1000:1000::/run/job:/bin/sh\n");
  make_file("etc/group", "root:x:0:\njob:x:1000:\n");
  make_file("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n");
  const std::pair<const char*, const char*> links[] = {{"/proc/self/fd", "dev/fd"},
                                                       {"/proc/self/fd/0", "dev/stdin"},
                                                       {"/proc/self/fd/1", "dev/stdout"},
                                                       {"/proc/self/fd/2", "dev/stderr"}};
  for (const auto& [target, path] : links) {
    check_step(::symlink(target, path) == 0, std::string{"link "} + path);
  }
}

unique_fd populate(const launch_plan& plan, const assembled& host) {
  for (const char* folder : {"proc", "dev", "dev/shm", "tmp", "run", "run/job", "etc"}) {
    check_step(::mkdir(folder, 0755) == 0, std::string{"mkdir "} + folder);
  }
  // The run's own tmpfs first, binds on top: an interpreter may lie below /tmp.
  unique_fd job;
  attach_tmpfs("run/job", "0700", plan, &job);
  attach_tmpfs("tmp", "1777", plan, nullptr);
  attach_tmpfs("dev/shm", "1777", plan, nullptr);
  for (const auto& entry : host.binds) {
    attach_bind(entry);
  }
  for (const auto& link : host.links) {
    const auto path = link.path.substr(1);
    make_parents(path);
    // Inside a bound folder the link is there already (EEXIST, EROFS).
    check_step(::symlink(link.target.c_str(), path.c_str()) == 0 || errno == EEXIST || errno == EROFS,
               "link " + link.path);
  }
  make_system_files();
  return job;
}

}  // namespace

unique_fd enter_new_root(const launch_plan& plan) {
  check_step(mount(nullptr, "/", nullptr, ms_rec | ms_private) == 0, "make mounts private");
  ::umask(0022);
  const auto host = assemble(plan);
  // 4 MiB: mount points and a few small files.
  const unique_fd root{make_tmpfs(4 * MiB, "0755", attr_nosuid, 0)};
  check_step(static_cast<bool>(root), "make root tmpfs");
  // It must hang somewhere to be pivoted to; what it hides there is open already.
  check_step(attach_tree(root.get(), AT_FDCWD, "/tmp") == 0, "attach root tmpfs");
  check_step(::fchdir(root.get()) == 0, "enter root tmpfs");
  auto job = populate(plan, host);
  // While the old /proc is still visible: in a user namespace the kernel refuses a new procfs (EPERM, "mount too
  // revealing") once no fully visible one is left.
  check_step(mount("proc", "proc", "proc", ms_nosuid | ms_nodev | ms_noexec) == 0, "mount proc");
  check_step(pivot_root(".", ".") == 0, "pivot_root");
  check_step(unmount(".") == 0, "unmount old root");
  check_step(::chdir("/") == 0, "enter new root");
  check_step(mount(nullptr, "/", nullptr, ms_remount | ms_bind | ms_rdonly | ms_nosuid) == 0, "make root read-only");
  return job;
}

void fill_job_folder(int job, const launch_plan& plan) {
  for (const char* folder : run_subfolders) {
    check_step(::mkdirat(job, folder, 0700) == 0, std::string{"mkdir "} + folder);
    check_step(plan.uid == 0 || ::fchownat(job, folder, plan.uid, plan.uid, AT_SYMLINK_NOFOLLOW) == 0,
               std::string{"chown "} + folder);
  }
  for (const auto& file : plan.files) {
    const unique_fd made{::openat(job, file.name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0444)};
    check_step(static_cast<bool>(made), "create " + file.name);
    for (std::size_t done = 0; done < file.content.size();) {
      const auto size = ::write(made.get(), file.content.data() + done, file.content.size() - done);
      check_step(size > 0, "write " + file.name);
      done += static_cast<std::size_t>(size);
    }
  }
}

}  // namespace regatta::sandbox
