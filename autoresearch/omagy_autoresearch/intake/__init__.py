"""The guided interview: questions, answers, draft and readiness, without a terminal (contract section 9)."""
