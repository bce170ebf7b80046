"""Files → Trace: the format told apart by content, then read column by column."""
