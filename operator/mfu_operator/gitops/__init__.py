"""From a diagnosis to a proposal: which commits bracket the loss, which one did it, how to undo it and to say so."""
