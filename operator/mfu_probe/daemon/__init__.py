"""`mfu-capture`: Kineto's daemon protocol beside an unmodified script, served as the same capture API.

protocol   a datagram of libkineto, and the answer to it
processes  who polls, and what each is handed when it polls next
session    the captures of one process
service    the socket, and one port for each process
"""
