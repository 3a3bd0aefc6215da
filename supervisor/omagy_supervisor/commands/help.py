"""The help texts. A line of them has room on a terminal of 80 columns."""

OMAGY = """\
omagy runs autonomous experiment loops on your git repository, and keeps only
what your evaluator proves better.

usage:
  omagy autoresearch                               from an idea to a run
  omagy autoresearch <mission-dir> [codex-args…]   start a run
  omagy autoresearch --resume <run-id>             go on with a run
  omagy autoresearch list | status | watch | attach | stop
  omagy autoresearch check <mission-dir>           would it run?
  omagy autoresearch --help                        all options
  omagy hud                                        one line for a status bar
  omagy question --input '<json>'                  ask the person
  omagy question list | show | answer | cancel
  omagy state write | read | list | clear | cancel
                                                   workflow modes
  omagy stop-conditions list | evaluate            when a loop stops
  omagy mcp                                        tools for agents
  omagy --version

Each of these commands says more with --help."""

AUTORESEARCH = """\
omagy autoresearch: one agent session per iteration; each commit it makes is
kept or discarded by your evaluator.

usage:
  omagy autoresearch [options]                     an interview makes a mission
  omagy autoresearch [options] <mission-dir> [codex-args…]
  omagy autoresearch [options] --resume <run-id> [codex-args…]

  <mission-dir> holds mission.md (what to improve) and sandbox.md (how it is
  measured: YAML frontmatter). A run gets a branch and a worktree of its own;
  your checkout is never touched. Options stand before <mission-dir>; what
  follows it goes to `codex exec` untouched (-- may separate them).

without a mission, on a terminal: an interview that makes one. It asks what
should get better and how you would notice, tries the measurement on a copy,
and keeps a draft in .omagy/specs; nothing is launched without your word:
  omagy autoresearch            from an idea to a run
  omagy autoresearch init       the same
  --topic "make it faster"      what should get better
  --evaluator "sh score.sh"     a command that prints
                                {"pass": true, "score": 12.5}
  --keep-policy score_improvement|pass_only
  --slug faster                 its name; an interview of that name goes on
                                where it was left
  --infer                       first let Codex, read-only, look at a copy and
                                propose a measurement

where it runs (default: in tmux, followed here; Ctrl-C leaves the view, not
the run):
  --detach                      return once the baseline is recorded
  --foreground                  run in this process; Ctrl-C stops the run

limits, totals of the run (also keys of sandbox.md; a resume may raise them):
  --max-iterations N            --max-wall-time 8h
  --target-score X              --max-consecutive-errors N (default 3)

agent:
  --agent codex|rehearsal|command:<cmd>
                                rehearsal is offline, for missions that bring
                                proposals (missions/quickstart)
  --codex-sandbox workspace|off|user
                                workspace (default): a session can write its
                                lane, its candidate file and temporary
                                folders, and has no network
                                off: no sandbox at all
                                user: as your own Codex configuration says
  --no-wait                     end the run at a usage limit instead of
                                waiting for its reset
  --allow-broken-baseline       start although the evaluator fails on the
                                starting point

resume:
  --save-leftovers              save uncommitted changes found in the lane
                                under the run's refs, and go on

a mission of your own, in missions/<slug>, never over a folder that is there:
  omagy autoresearch init --template <measure>
                                an evaluator made for this repository:
                                tests, speed, size, lint, types, coverage,
                                metric or training
  omagy autoresearch init --topic <goal> --evaluator <command>
                          [--slug <name>] [--dir <folder>]
                          [--keep-policy score_improvement|pass_only]
                          [--direction maximize|minimize]
                          [--guard <command>] [--timeout 10m] [--json]

before the first run:
  omagy autoresearch check <mission-dir> [--json]
                                set up, evaluate, guard, noise, sandbox: says
                                "ready" or what is missing

look and steer (run-id: the active run, else the newest):
  omagy autoresearch list [--json]               all runs of this repository
  omagy autoresearch status [run-id] [--json]    one run, and the next command
  omagy autoresearch watch [run-id]              live progress
  omagy autoresearch attach [run-id]             its tmux session; C-b d leaves
  omagy autoresearch stop [run-id] [--after-iteration]
  omagy autoresearch rebuild <run-id>            write its records anew

exit status: 0 finished · 1 failed · 2 usage or contract error · 3 blocked ·
             4 askuserQuestion · 130 userinterlude"""

QUESTION = """\
omagy question: ask the person something, where the person is, and wait for
the answer.

usage:
  omagy question --input '<json>' [--json]     ask; - reads the JSON from stdin
  omagy question --question TEXT [--options 'A|B|C'] [--multi-select]
                 [--allow-other] [--default X] [--header TEXT]
  omagy question list [--json]                 all of this repository
  omagy question show <id> [--json]
  omagy question answer <id> '<your answer>'   numbers or names of options;
                                               one word each for several
                                               questions
  omagy question answer <id> --input '{"answers":["yes"]}'
  omagy question answer <id>                   on a terminal: choose there
  omagy question cancel <id>                   withdraw it: nobody waits for
                                               its answer any more

  <json>: {"question": …,
           "options": ["A", {"label": …, "value": …, "description": …}],
           "multi_select": false, "allow_other": false, "default": …,
           "header": …, "timeout": "10m"}
          or several: {"questions": [{…}, {…}]}

options:
  --timeout 10m       give up then; the question is expired
  --renderer auto|tmux|inline|none
                      auto (default): where a person is
                      tmux: a pane beside the asker's
                      inline: this terminal
                      none: record it, do not wait
  --session-id ID     keep it in that session's state

Inside a run's session the question is handed to the run, which ends as
askuserQuestion and goes on with the answer.

exit status: 0 answered · 4 open: nobody has answered yet · 1 expired ·
             130 cancelled · 2 usage or contract error"""
