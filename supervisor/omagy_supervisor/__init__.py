"""The imperative shell of omagy: it performs what the core decides, on real git, tmux and processes."""
