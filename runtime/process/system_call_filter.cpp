// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/system_call_filter.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace ak::runtime {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
#error "name the AUDIT_ARCH_ constant of this machine"
#endif

// Newer than the headers of many systems; calls since Linux 5.1 have one number on all machines.
constexpr long kMountSetattr = 442, kQuotactlFd = 443, kProcessMrelease = 448, kFchmodat2 = 452,
               kSetxattrat = 463, kRemovexattrat = 466, kOpenTreeAttr = 467, kFileSetattr = 469;

constexpr long kRefused[] = {
    // What is known of a file beside its contents, which Landlock leaves open to everybody.
    SYS_fchmod,
    SYS_fchmodat,
    kFchmodat2,
    SYS_fchown,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    kSetxattrat,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    kRemovexattrat,
    kFileSetattr,
    SYS_utimensat,
#if defined(__x86_64__)
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
    SYS_truncate,  // which Landlock knows from its third version on
    SYS_fanotify_init,
    // The network. The protocol's socket pair is open already and read and written like a file.
    SYS_connect,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
    // Other processes' memory, descriptors and signals.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_tkill,
    SYS_pidfd_send_signal,
#ifdef SYS_pidfd_open
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_process_madvise,
#endif
    kProcessMrelease,
    SYS_setpriority,
    SYS_ioprio_set,
    // System V's and POSIX's objects, which whoever guesses a number or a name can use.
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_mq_open,
    SYS_mq_unlink,
    // Other identities, which would also undo that the process ends with its parent.
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_setgroups,
    SYS_capset,
    // Mounts and namespaces.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
#ifdef SYS_fsopen
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_move_mount,
    SYS_open_tree,
#endif
    kMountSetattr,
    kOpenTreeAttr,
    SYS_open_by_handle_at,
    // Keys, programs in the kernel, and calls made on another's behalf.
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
#endif
    // Administration.
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    kQuotactlFd,
    SYS_syslog,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
};

// Processes and what connects to them; threads are clone() below, programs kPrograms.
constexpr long kCopies[] = {SYS_accept, SYS_accept4,
#ifdef SYS_fork
                            SYS_fork, SYS_vfork
#endif
};

// Beside socket() itself: nothing comes in or goes out through them without the calls above.
constexpr long kListeners[] = {SYS_bind, SYS_listen};

constexpr long kPrograms[] = {SYS_execve, SYS_execveat};

// Allowed when the first argument is this process (or 0, which means it or its own group).
constexpr long kOwnProcessOnly[] = {SYS_kill,
                                    SYS_tgkill,
                                    SYS_rt_sigqueueinfo,
                                    SYS_rt_tgsigqueueinfo,
                                    SYS_prlimit64,
                                    SYS_sched_setaffinity,
                                    SYS_sched_setscheduler,
                                    SYS_sched_setparam,
                                    SYS_sched_setattr,
                                    SYS_move_pages,
                                    SYS_migrate_pages};

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t refuse_with(int error) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

/// A classic BPF program over seccomp_data.
class Program {
 public:
  Program() {
    load(offsetof(seccomp_data, arch));
    // Another machine's table (32-bit calls) has other numbers: nothing of it is let through.
    jump(BPF_JEQ, kMachine, 1, 0);
    answer(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    jump(BPF_JGE, 0x40000000U, 0, 1);  // the x32 numbers
    answer(refuse_with(EPERM));
#endif
  }

  void refuse(long call, int error) {
    jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 1);
    answer(refuse_with(error));
  }

  void allow_first_argument(long call, std::uint32_t value) {
    jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 4);
    load(offsetof(seccomp_data, args[0]));
    jump(BPF_JEQ, value, 0, 1);
    answer(kAllow);
    answer(refuse_with(EPERM));
  }

  void refuse_first_argument(long call, std::uint32_t value) {
    jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 4);
    load(offsetof(seccomp_data, args[0]));
    jump(BPF_JEQ, value, 0, 1);
    answer(refuse_with(EPERM));
    answer(kAllow);
  }

  void allow_own_process(long call, std::uint32_t pid) {
    jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 5);
    load(offsetof(seccomp_data, args[0]));
    jump(BPF_JEQ, pid, 1, 0);
    jump(BPF_JEQ, 0, 0, 1);
    answer(kAllow);
    answer(refuse_with(EPERM));
  }

  // clone() makes threads and processes; only the flags distinguish them.
  void allow_threads() {
    jump(BPF_JEQ, SYS_clone, 0, 4);
    load(offsetof(seccomp_data, args[0]));
    jump(BPF_JSET, CLONE_THREAD, 0, 1);
    answer(kAllow);
    answer(refuse_with(EPERM));
  }

  void allow_the_rest() { answer(kAllow); }

  /// Of this object's memory.
  sock_fprog code() { return {static_cast<unsigned short>(code_.size()), code_.data()}; }

 private:
  // The low half of a 64-bit argument, which comes first on these machines.
  void load(std::size_t offset) {
    code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  }
  void jump(int comparison, std::uint32_t value, std::uint8_t then, std::uint8_t otherwise) {
    code_.push_back({static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), then, otherwise, value});
  }
  void answer(std::uint32_t verdict) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, verdict)); }

  std::vector<sock_filter> code_;
};

void refuse_other_processes(Program& program, std::uint32_t own) {
  for (const long call : kCopies) program.refuse(call, EPERM);
  program.refuse_first_argument(SYS_prctl, PR_SET_PDEATHSIG);  // it ends with its parent, come what may
  for (const long call : kOwnProcessOnly) program.allow_own_process(call, own);
  program.allow_threads();
}

Program program_for(AllowedCalls allowed, std::uint32_t own_process) {
  Program program;
  for (const long call : kRefused)
    if (call != SYS_sendmsg || !allowed.copies) program.refuse(call, EPERM);
  if (!allowed.programs)
    for (const long call : kPrograms) program.refuse(call, EPERM);
  if (allowed.local_listeners) {
    program.allow_first_argument(SYS_socket, AF_UNIX);
  } else {
    program.refuse(SYS_socket, EPERM);
    for (const long call : kListeners) program.refuse(call, EPERM);
  }
  if (!allowed.memory_files) program.refuse(SYS_memfd_create, EPERM);
#ifdef SYS_clone3
  // Its flags are in memory, where no filter can look; where it seems missing, libc falls back to clone().
  program.refuse(SYS_clone3, ENOSYS);
#endif
  if (!allowed.copies) refuse_other_processes(program, own_process);
  program.allow_the_rest();
  return program;
}

std::string bytes_of(Program program) {
  const sock_fprog code = program.code();
  return {reinterpret_cast<const char*>(code.filter), code.len * sizeof(sock_filter)};
}

}  // namespace

std::string program_refusal() {
  Program program;
  for (const long call : kPrograms) program.refuse(call, EPERM);
  program.allow_the_rest();
  return bytes_of(program);
}

std::string filter_code(AllowedCalls allowed) { return bytes_of(program_for(allowed, kAnyProcess)); }

std::string filter_system_calls(AllowedCalls allowed) {
  Program program = program_for(allowed, static_cast<std::uint32_t>(::getpid()));
  sock_fprog code = program.code();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return fmt::format("new privileges cannot be given up: {}", std::strerror(errno));
  const long failed =
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &code);  // every thread
  if (failed < 0) return fmt::format("no system call filter (seccomp): {}", std::strerror(errno));
  if (failed > 0) return fmt::format("no system call filter (seccomp): thread {} has another one", failed);
  return {};
}

}  // namespace ak::runtime
