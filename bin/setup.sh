# shellcheck shell=bash
# Makes, updates and repairs the checkout's virtual environment. Sourced by bin/omagy and bin/dev,
# which set $root (absolute, no symlinks) and $me (the name messages start with).
#
# .venv/omagy-KIND.stamp is written last and holds the checkout's path and the pyproject.toml that
# was installed. KIND is `product` (omagy itself), `mcp` (also the extra of that name) or `dev` (also
# the dependency group `dev`, which has all that the extra has). An environment is current when its
# stamp equals what the checkout has now. A copy rather than a checksum: bash compares it without
# starting a program. The path is in it because a virtual environment cannot be moved.
# Nothing is written outside .venv and .tools, which git ignores.

: "${root:?}" "${me:?}"
venv=$root/.venv
tools=$root/.tools
setup_log=$tools/setup.log
ours=$tools/omagy-made-the-venv   # there before the environment is begun
half_updated=$venv/omagy-updating # there while pip changes an environment that was complete
python=                           # set by find_python

say() { printf '%s: %s\n' "$me" "$*" >&2; }

# 2: nothing was started (the product's contract).
give_up() {
  say "$1"
  shift
  if (($# > 0)); then printf '  %s\n' "$@" >&2; fi
  exit 2
}

stamp_of() { printf -v "$2" '%s' "$venv/omagy-$1.stamp"; }

# Sets the variable named $1 to what a stamp must hold now.
read_wanted_stamp() {
  local pyproject=
  IFS= read -r -d '' pyproject <"$root/pyproject.toml" || true
  printf -v "$1" '%s\n%s' "$root" "$pyproject"
}

# Every use of omagy passes here: builtins only.
is_current() {
  local stamp found='' wanted=''
  stamp_of "$1" stamp
  [[ -f $stamp && -x $venv/bin/python && -x $venv/bin/omagy && ! -e $half_updated ]] || return 1
  IFS= read -r -d '' found <"$stamp" || true
  read_wanted_stamp wanted
  [[ $found == "$wanted" ]]
}

# Brings the environment up to date for KIND, or ends the script with a message.
ensure_environment() {
  is_current "$1" && return
  find_python || explain_missing_python
  take_setup_lock
  # Somebody else may have finished it while we waited.
  is_current "$1" || install_environment "$1"
  release_setup_lock
}

# --- Python -------------------------------------------------------------------------------------

# Being on PATH proves nothing: a pyenv shim exists for versions that are not active and fails when
# run, and Debian's Python comes without ensurepip. Answers `ok PATH`, `old X.Y` or `novenv X.Y`;
# PATH is the interpreter behind a shim or an activated virtual environment.
probe_source='
import sys
version = "%d.%d" % sys.version_info[:2]
if sys.version_info < (3, 11):
    print("old " + version)
else:
    try:
        import ensurepip, venv
        print("ok " + (sys._base_executable or sys.executable))
    except ImportError:
        print("novenv " + version)
'

python_without_venv=

probe() {
  local answer
  answer=$("$1" -I -c "$probe_source" 2>/dev/null </dev/null) || return 1
  case $answer in
    'ok '*) python=${answer#ok } ;;
    'novenv '*)
      python_without_venv=${python_without_venv:-${answer#novenv }}
      return 1
      ;;
    *) return 1 ;;
  esac
}

find_python() {
  local candidate
  python_without_venv=
  if [[ -n ${OMAGY_PYTHON:-} ]]; then
    # An explicit choice that cannot be honoured is an error, not a hint.
    probe "$OMAGY_PYTHON"
    return
  fi
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 "$venv/bin/python"; do
    if probe "$candidate"; then return; fi
  done
  return 1
}

explain_missing_python() {
  if [[ -n $python_without_venv ]]; then
    give_up "Python $python_without_venv is here but cannot make virtual environments (no venv or ensurepip)." \
      "Debian, Ubuntu:  sudo apt install python3-venv   (or python$python_without_venv-venv)" \
      "elsewhere:       install a complete Python, or set OMAGY_PYTHON=/path/to/python" \
      "Then run the same command again."
  fi
  if [[ -n ${OMAGY_PYTHON:-} ]]; then
    give_up "OMAGY_PYTHON=$OMAGY_PYTHON is not a working Python 3.11 or newer." \
      "Set it to one, or unset it to have PATH searched; then run the same command again."
  fi
  give_up "needs Python 3.11 or newer; none on PATH works (tried python3, python3.14 … python3.11)." \
    "Debian, Ubuntu:  sudo apt install python3 python3-venv" \
    "macOS:           brew install python" \
    "elsewhere:       install one and set OMAGY_PYTHON=/path/to/python" \
    "Then run the same command again."
}

# --- the lock -----------------------------------------------------------------------------------

# flock(1) is missing on macOS, flock(2) is not. The lock belongs to file descriptor 9, which this
# shell keeps and its children inherit: the kernel frees it when the last of them is gone, so there
# is no stale lock to detect, and a pip that outlives a killed shell still keeps others out.
lock_source='
import fcntl, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print(sys.argv[1] + ": another setup of this checkout is running; waiting for it …", file=sys.stderr, flush=True)
    fcntl.flock(9, fcntl.LOCK_EX)
'

take_setup_lock() {
  local lock=$tools/setup.lock
  # The redirection of `exec` would end this shell with bash's own words, hence the test before it.
  if ! mkdir -p "$tools" 2>/dev/null || ! { : >>"$lock"; } 2>/dev/null; then
    give_up "is not set up yet and cannot write to $root." \
      "Run it once as the owner of that folder, or make a clone of your own."
  fi
  exec 9>>"$lock"
  "$python" -I -c "$lock_source" "$me" </dev/null ||
    give_up "could not lock $lock (see above)." \
      "Is the checkout on a network folder without locks? Clone it to a local disk."
}

release_setup_lock() { exec 9>&-; }

# --- installing ---------------------------------------------------------------------------------

install_environment() {
  local kind=$1 wanted
  # pip answers Ctrl-C with an ordinary exit status and without undoing anything, so this shell has
  # to end by itself, leaving the marks that make the next use repair the environment.
  trap 'exit 130' INT
  # Read before pip runs: an edit made meanwhile is then seen as a change at the next use.
  read_wanted_stamp wanted
  if is_complete; then
    say "$(why_update "$kind"), updating the environment …"
    : >"$half_updated"
  else
    is_ours || give_up "$venv was not made by omagy, which would have to replace it: it is left alone." \
      "Move it away:  mv '$venv' '$venv.mine'" \
      "Then run the same command again."
    say "setting up … (once)"
    : >"$ours"
    create_environment
  fi
  run_pip "$kind" || explain_pip_failure $?
  write_stamp product "$wanted"
  if [[ $kind != product ]]; then write_stamp mcp "$wanted"; fi
  if [[ $kind == dev ]]; then write_stamp dev "$wanted"; fi
  rm -f "$half_updated"
  trap - INT
}

# Whether pip may work on what is there. Anything else (interrupted, moved, its Python gone) is made
# anew: cheaper than finding out what is wrong with it.
is_complete() {
  local stamp installed_for=
  stamp_of product stamp
  [[ -f $stamp && ! -e $half_updated ]] || return 1
  IFS= read -r installed_for <"$stamp" || true
  [[ $installed_for == "$root" ]] && "$venv/bin/python" -I -c 'import pip' 2>/dev/null </dev/null
}

# Whether nothing of anybody else's is lost when the environment is made anew.
is_ours() {
  [[ -e $ours || -z $(ls -A "$venv" 2>/dev/null) ]] || compgen -G "$venv/omagy-*" >/dev/null
}

why_update() {
  local stamp
  stamp_of "$1" stamp
  if [[ -f $stamp ]]; then
    echo "pyproject.toml changed"
  elif [[ $1 == mcp ]]; then
    echo "the MCP SDK is missing"
  else
    echo "$1 tools are missing"
  fi
}

create_environment() {
  "$python" -I -m venv --clear "$venv" >"$setup_log" 2>&1 </dev/null && return
  show_log_end
  give_up "could not make the virtual environment $venv with $python." \
    "If the disk is full or the folder is not yours, put that right; else remove it: rm -rf '$venv'" \
    "Then run the same command again."
}

# pip's settings (index, proxy, certificates) are the machine's business and are left alone, save
# two that cannot work here: installing to the user's home, and asking questions.
run_pip() {
  local kind=$1 requirements=$tools/dev-requirements.txt
  set -- -e "$root"
  case $kind in
    mcp) set -- -e "${root}[mcp]" ;;
    dev)
      dev_requirements >"$requirements" || return
      set -- "$@" -r "$requirements"
      ;;
  esac
  PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_USER=0 PIP_NO_INPUT=1 \
    "$venv/bin/python" -I -m pip install --quiet "$@" >"$setup_log" 2>&1 </dev/null
}

# The pip of a new environment may be older than `pip install --group` (25.1), and replacing pip
# first would be one more download that can fail.
dev_requirements() {
  "$venv/bin/python" -I - "$root/pyproject.toml" <<'PYTHON'
import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    groups = tomllib.load(file).get("dependency-groups", {})


def requirements(group):
    for entry in groups[group]:
        if isinstance(entry, str):
            yield entry
        else:
            yield from requirements(entry["include-group"])


print(*requirements("dev"), sep="\n")
PYTHON
}

explain_pip_failure() {
  # pip undoes an install that fails, so a complete environment still is; not one it was killed in.
  if (($1 < 128)); then rm -f "$half_updated"; fi
  show_log_end
  give_up "could not install what it needs; the lines above are pip's last ($setup_log has all)." \
    "No network? Connect (pip's proxy and index settings apply: pip config list)." \
    "Then run the same command again."
}

show_log_end() { tail -n 20 "$setup_log" | sed 's/^/  | /' >&2; }

# Written aside and renamed: a stamp is there whole or not at all.
write_stamp() {
  local stamp
  stamp_of "$1" stamp
  printf '%s' "$2" >"$stamp.new"
  mv -f "$stamp.new" "$stamp"
}
