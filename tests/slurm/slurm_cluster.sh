#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A Slurm of the test's own: the real daemons, with virtual nodes that all are this machine, from Debian's packages, which
# are unpacked and not installed. Nothing listens but on the loopback.
#   slurm_cluster.sh up FOLDER [NODES]   starts it and writes FOLDER/env, to be sourced; exit code 77: not possible here
#   slurm_cluster.sh node FOLDER N       starts slurmd of node N again
#   slurm_cluster.sh down FOLDER         ends its jobs and daemons
# AK_SLURM_PACKAGES: a folder that keeps the packages from one time to the next (FOLDER/packages).
set -euo pipefail

verb=${1:?up, node or down} folder=$(realpath -m "${2:?a folder}")
run=$folder/run state=$folder/state unpacked=$folder/unpacked
libraries=$unpacked/usr/lib/$(uname -m)-linux-gnu
packages=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2 libhwloc15 liblua5.1-0)

skip() {
  echo "no Slurm here: $1" >&2
  exit 77
}

# Waits for up to 30 s until a command succeeds.
until_true() {
  local _
  for _ in $(seq 150); do
    "$@" && return
    sleep 0.2
  done
  echo "never came true: $*" >&2
  tail -n 5 "$folder"/log/* >&2
  return 1
}

unpack() {
  local kept=${AK_SLURM_PACKAGES:-$folder/packages}
  mkdir -p "$kept" "$unpacked"
  if ! ls "$kept"/slurmctld_*.deb >/dev/null 2>&1; then
    command -v apt-get >/dev/null || skip "apt-get is missing"
    local new
    new=$(mktemp -d "$kept/new.XXXXXX")  # a download that is interrupted leaves nothing that looks whole
    (cd "$new" && timeout 60 apt-get download "${packages[@]}") >"$folder/log/apt" 2>&1 ||
      { rm -rf "$new"; skip "its packages cannot be downloaded: $(tail -n 1 "$folder/log/apt")"; }
    mv "$new"/*.deb "$kept"
    rmdir "$new"
  fi
  for package in "$kept"/*.deb; do dpkg -x "$package" "$unpacked"; done
}

# Ports of this cluster's daemons: 80 in a row, of which no one listens at the first.
first_port() {
  local port
  for port in $(shuf -i 250-350); do
    port=$((port * 80))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port; return; }
  done
}

configure() {
  local nodes=$1 me=$(id -un) host=$(hostname) port=$(first_port)
  getent hosts "$host" >/dev/null || skip "the machine's name, $host, has no address"
  cat >"$folder/env" <<END
export PATH='$unpacked/usr/bin:$unpacked/usr/sbin':"\$PATH"
export LD_LIBRARY_PATH='$libraries/slurm-wlm:$libraries'
export SLURM_CONF='$folder/slurm.conf'
END
  {
    cat <<END
ClusterName=virtual
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$me
SlurmdUser=$me
AuthInfo=socket=$run/munge
AuthType=auth/munge
CredType=cred/munge
PluginDir=$libraries/slurm-wlm
StateSaveLocation=$state
SlurmctldPidFile=$run/slurmctld.pid
SlurmdPidFile=$run/slurmd-%n.pid
SlurmdSpoolDir=$folder/spool/%n
# More processors than there are.
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
SlurmdTimeout=10
KillWait=10
END
    for n in $(seq "$nodes"); do
      echo "NodeName=n$n NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + n)) CPUs=4 RealMemory=1000"
    done
    echo "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
  } >"$folder/slurm.conf"
}

# In a session of its own, so that no terminal ends it.
start() {
  local name=$1
  shift
  setsid "$@" </dev/null >"$folder/log/$name" 2>&1 &
  echo $! >"$run/$name.daemon"
}

start_node() {
  mkdir -p "$folder/spool/n$1"
  start "slurmd-n$1" slurmd-wlm -D -N "n$1" -d "$unpacked/usr/sbin/slurmstepd-wlm"
}

all_idle() { [ "$(sinfo --noheader --Node --states=idle --format=%N | sort -u | wc -l)" -eq "$1" ]; }

# Ends the cluster when the process that wanted it has ended without doing so, as where a test is killed.
keep_for() {
  setsid bash -c 'while [ -d "/proc/$1" ]; do [ ! -e "$2/run/ended" ] || exit 0; sleep 1; done; exec bash "$0" down "$2"' \
    "$0" "$1" "$folder" </dev/null >/dev/null 2>&1 &
}

up() {
  local nodes=${1:-4}
  mkdir -p "$run" "$state" "$folder/log" "$folder/spool"
  chmod 700 "$run"
  unpack
  configure "$nodes"
  . "$folder/env"
  trap '[ $? -eq 0 ] || down' EXIT
  keep_for "$PPID"
  head -c 128 /dev/urandom >"$run/munge.key"
  chmod 600 "$run/munge.key"
  start munged munged --foreground --force --key-file="$run/munge.key" --socket="$run/munge" --pid-file="$run/munged.pid" \
    --log-file="$folder/log/munge" --seed-file="$run/munge.seed"
  until_true test -S "$run/munge" 2>"$folder/log/start" || skip "munged does not come up: $(tail -n 1 "$folder/log/start")"
  start slurmctld slurmctld-wlm -D
  for n in $(seq "$nodes"); do start_node "$n"; done
  until_true all_idle "$nodes" 2>"$folder/log/start" || skip "its nodes do not come up: $(tail -n 1 "$folder/log/start")"
}

# Whether a daemon of this cluster still runs; its number may be another process's by now.
runs() { tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -q 'slurm\|munged'; }

down() {
  . "$folder/env"
  touch "$run/ended"
  timeout 10 scancel --quiet --signal=KILL --full --state=RUNNING --user="$(id -un)" || true
  timeout 10 scancel --quiet --user="$(id -un)" || true
  for _ in $(seq 100); do
    [ -n "$(timeout 5 squeue --noheader)" ] || break
    sleep 0.1
  done
  local pids=()
  for file in "$run"/*.daemon; do pids+=("$(cat "$file")"); done
  for signal in TERM KILL; do
    for pid in "${pids[@]}"; do runs "$pid" && kill -$signal "$pid" 2>/dev/null || true; done
    for _ in $(seq 50); do
      local left=0
      for pid in "${pids[@]}"; do runs "$pid" && left=1; done
      [ $left = 1 ] || return 0
      sleep 0.1
    done
  done
}

case $verb in
  up) up "${3:-4}" ;;
  node) . "$folder/env" && start_node "${3:?the number of a node}" ;;
  down) down ;;
  *) echo "unknown: $verb" >&2; exit 2 ;;
esac
