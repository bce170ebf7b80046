"""How every command prints: objects for programs, Markdown and pages for people, once or whenever it changed.

objects   JSON and YAML
account   the account of a step as Markdown
page      Markdown as a page of its own
options   -o and -w, the same words in every command
"""
