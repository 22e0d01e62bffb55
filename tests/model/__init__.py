"""Model checking of the rules of decision: every state that a small partition can reach, and what each rule loses there (`python -m model`)."""
