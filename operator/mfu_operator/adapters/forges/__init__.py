"""Services that hold pull requests, and the factory that picks one by a repository's address."""

from mfu_operator.adapters.forges.bitbucket import Bitbucket
from mfu_operator.adapters.forges.factory import forge
from mfu_operator.adapters.forges.gitea import Gitea
from mfu_operator.adapters.forges.github import GitHub
from mfu_operator.adapters.forges.github_app import AppTokens
from mfu_operator.adapters.forges.gitlab import GitLab
from mfu_operator.adapters.forges.http import Web

__all__ = ["AppTokens", "Bitbucket", "GitHub", "GitLab", "Gitea", "Web", "forge"]
