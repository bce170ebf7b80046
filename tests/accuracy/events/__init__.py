"""A second opinion: an event simulator of training loops, written without looking at the generator beside it.

It knows nothing of accounts. Host threads, streams, a loader with its queue and collectives over ranks run against each
other; time is lost by turning one knob of the machine until the loop is slower by so much, and what is recorded of it
is what torch.profiler or nsys would have written down.
"""
