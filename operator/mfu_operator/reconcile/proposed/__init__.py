"""What becomes of a proposal once it is a pull request: the person's answer, the other baselines that it is about, and
how it ends. Pure, as all of `reconcile`."""
