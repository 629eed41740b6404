from __future__ import annotations

import hypothesis

# Hypothesis fails an example that takes 200 ms, which on a busy machine any of them may.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")
