"""Images without a registry: built with buildah, kept as archives in the cache, imported into containerd."""

import json
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.apt import apt_install, debian_sources
from tests.cluster.build_environment import build_mounts
from tests.cluster.cache import content_key, exclusive
from tests.cluster.containerd import PAUSE_IMAGE, Containerd
from tests.cluster.mounts import unmount_below
from tests.cluster.process import output_of, write_atomically
from tests.cluster.progress import progress
from tests.cluster.state import cache_dir

BASE_IMAGE = "localhost/base:1"
_BASE_PACKAGES = ("ca-certificates", "python3", "python3-pip", "python3-venv")
_KEPT_ARCHIVES = 3
_SUITE = "bookworm"
_OWN_IMAGES = Path(__file__).parent / "images"
_LEFT_OUT = ("**/__pycache__", "**/*.egg-info", "**/.mypy_cache", "**/.pytest_cache", "**/.ruff_cache", "**/.venv")


@dataclass(frozen=True)
class ImageRef:
    """An image that containerd holds.

    Attributes:
        reference: What a pod's ``image`` says: ``localhost/mfu/<name>@sha256:<digest>``. Never pulled.
        digest: ``sha256:<hex>``, the digest of its manifest.
    """

    reference: str
    digest: str


@dataclass(frozen=True)
class Archive:
    """A built image in the cache.

    Attributes:
        path: The OCI archive.
        digest: The digest of its manifest.
    """

    path: Path
    digest: str


class Images:
    """Gives built images to containerd."""

    def __init__(self, containerd: Containerd) -> None:
        """Give images to ``containerd``."""
        self._containerd = containerd

    def load(self, name: str, archive: Archive) -> ImageRef:
        """Give a built image to containerd, where it does not hold it already."""
        reference = f"localhost/mfu/{name}@{archive.digest}"
        if not self._holds(reference):
            with progress(f"load image {name}"):
                self._import(name, archive)
        return ImageRef(reference, archive.digest)

    def load_pause(self) -> None:
        """Give containerd the image that holds each pod's network open."""
        if not self._holds(PAUSE_IMAGE):
            loaded = self.load("pause", build_pause())
            self.tag(loaded.reference, PAUSE_IMAGE)

    def tag(self, reference: str, name: str) -> None:
        """Give an image that containerd holds another name, taken from whatever had it."""
        self._containerd.ctr("images", "tag", "--force", reference, name)

    def forget_outdated(self) -> None:
        """Let containerd forget the images whose archive the cache no longer holds."""
        archives = (cache_dir() / "images").glob("*.oci.tar")
        kept = {manifest_digest(archive) for archive in archives}
        for line in self._containerd.ctr("images", "ls").splitlines()[1:]:
            reference, _, digest = line.split()[:3]
            if reference.startswith("localhost/mfu/") and digest not in kept:
                self._containerd.ctr("images", "rm", reference)

    def _import(self, name: str, archive: Archive) -> None:
        self._containerd.ctr("images", "import", "--base-name", f"localhost/mfu/{name}", "--digests", str(archive.path))

    def _holds(self, reference: str) -> bool:
        return reference in self._containerd.ctr("images", "ls", "-q", f"name=={reference}").split()


def build_archive(name: str, dockerfile: Path, context: Path, target: str | None = None) -> Archive:
    """Return the archive of an image, building it where the cache does not hold it; needs no cluster.

    The build sees this machine's package mirrors, proxies and certificates; the image does not keep them.
    ``FROM localhost/base:1`` is Debian with python3, pip and venv.

    Args:
        name: The image becomes ``localhost/mfu/<name>``.
        dockerfile: What to build.
        context: The folder that COPY copies from.
        target: The stage to build; None builds the last one.

    Raises:
        CommandFailed: It could not be built.
    """
    key = image_key(dockerfile, context, target)
    archive = cache_dir() / "images" / f"{name}-{key}.oci.tar"
    with exclusive(cache_dir() / "images" / ".lock"):
        if not archive.exists():
            if BASE_IMAGE in (text := dockerfile.read_text()) or "ARG BASE" in text:
                ensure_base()
            apt_install("buildah")
            with progress(f"build image {name}"):
                _build(name, dockerfile, context, target, archive)
    return Archive(archive, manifest_digest(archive))


def ensure_base() -> None:
    """Make the base image where buildah's storage does not hold it."""
    apt_install("buildah", "ca-certificates", "debootstrap")
    name = f"localhost/base:{_base_key()}"
    with exclusive(cache_dir() / "images" / ".base.lock"):
        if not _buildah("images", "--quiet", "--filter", f"reference={name}").strip():
            with progress("build the base image (debootstrap)"):
                _build_base(name)
        _buildah("tag", name, BASE_IMAGE)


def build_pause() -> Archive:
    """Return the archive of the pause image."""
    compiled = cache_dir() / "images" / f"pause-{content_key((_OWN_IMAGES / 'pause.c').read_text())}"
    if not (compiled / "pause").exists():
        apt_install("gcc", "libc6-dev")
        compiled.mkdir(parents=True, exist_ok=True)
        unfinished = compiled / ".pause"
        output_of(["gcc", "-Os", "-static", "-s", "-o", str(unfinished), str(_OWN_IMAGES / "pause.c")])
        unfinished.rename(compiled / "pause")
    return build_archive("pause", _OWN_IMAGES / "pause.Dockerfile", compiled)


def image_key(dockerfile: Path, context: Path, target: str | None) -> str:
    """Return a short name for the content of an image: the Dockerfile, what it copies from the context, the base."""
    text = dockerfile.read_text()
    parts = [text, target or "", _base_key()]
    for source in copied_sources(text):
        for path in _files_of(context, source):
            executable = "x" if path.stat().st_mode & stat.S_IXUSR else "-"
            content = path.read_bytes().decode("latin-1")
            parts += [str(path.relative_to(context)), executable, content]
    return content_key(*parts)


def copied_sources(dockerfile: str) -> list[str]:
    """Return the paths in the context that a Dockerfile copies with COPY or ADD; wildcards stay as they are."""
    found: list[str] = []
    for line in dockerfile.replace("\\\n", " ").splitlines():
        words = line.split()
        if not words or words[0].upper() not in ("COPY", "ADD") or any(word.startswith("--from=") for word in words):
            continue
        paths = [word for word in words[1:] if not word.startswith("--")]
        found += json.loads(" ".join(paths))[:-1] if paths[0].startswith("[") else paths[:-1]
    return found


def manifest_digest(archive: Path) -> str:
    """Return the digest of the one manifest that an OCI archive holds."""
    with tarfile.open(archive) as opened:
        index = opened.extractfile("index.json")
        if index is None:
            raise ValueError(f"{archive} holds no index.json")
        return str(json.load(index)["manifests"][0]["digest"])


def release_storage() -> None:
    """Unmount what buildah left mounted in the cache."""
    unmount_below(cache_dir() / "buildah")


def _files_of(context: Path, source: str) -> Iterator[Path]:
    relative = source.strip("/").removeprefix("./")
    matched = sorted(context.glob(relative)) if relative not in ("", ".") else [context]
    for path in matched:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in files if file.is_file() and not _is_left_out(file.relative_to(context)))


def _is_left_out(path: Path) -> bool:
    patterns = [pattern.removeprefix("**/") for pattern in _LEFT_OUT]
    return any(Path(part).match(pattern) for part in path.parts for pattern in patterns)


def _base_key() -> str:
    return content_key(_SUITE, *_BASE_PACKAGES)


def _build_base(name: str) -> None:
    folder = cache_dir() / "images" / ".base.unfinished"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mirror = debian_sources()[0].uri
    included = f"--include={','.join(_BASE_PACKAGES)}"
    output_of(["debootstrap", "--variant=minbase", included, _SUITE, str(folder), mirror])
    _forget_the_machine(folder)
    container = _buildah("from", "scratch").strip()
    _buildah("add", "--quiet", container, str(folder), "/")
    _buildah("config", "--env", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", container)
    _buildah("commit", "--quiet", "--rm", *_policy(), container, name)
    shutil.rmtree(folder)


def _forget_the_machine(root: Path) -> None:
    """Take out of a fresh Debian what it learned from this machine, and what no image needs."""
    for name in ("etc/apt/sources.list", "etc/resolv.conf", "etc/hostname"):
        (root / name).write_text("")
    for name in ("var/lib/apt/lists", "var/cache/apt", "var/log", "usr/share/doc", "usr/share/man", "usr/share/locale"):
        shutil.rmtree(root / name, ignore_errors=True)
        (root / name).mkdir(parents=True)


def _build(name: str, dockerfile: Path, context: Path, target: str | None, archive: Path) -> None:
    ignore = cache_dir() / "buildah" / "ignore"
    write_atomically(ignore, "\n".join(_LEFT_OUT) + "\n")
    tag = f"localhost/mfu/{name}:latest"
    stage = ["--target", target] if target else []
    options = ["--isolation", "chroot", "--layers", "--pull-never", "--ignorefile", str(ignore), *_policy()]
    options += ["--build-arg", f"BASE={BASE_IMAGE}", "--build-arg", "UNPINNED=yes"]
    mounts = [word for mount in build_mounts() for word in ("--volume", str(mount))]
    _buildah("bud", *options, *mounts, *stage, "--file", str(dockerfile), "--tag", tag, str(context))
    unfinished = archive.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    label = archive.name.removesuffix(".oci.tar")
    _buildah("push", "--quiet", *_policy(), tag, f"oci-archive:{unfinished}:{label}")
    unfinished.rename(archive)
    _forget_older(name)


def _forget_older(name: str) -> None:
    archives = (cache_dir() / "images").glob(f"{name}-{'[0-9a-f]' * 16}.oci.tar")
    for outdated in sorted(archives, key=lambda path: path.stat().st_mtime, reverse=True)[_KEPT_ARCHIVES:]:
        outdated.unlink()


def _policy() -> list[str]:
    """Return the option that lets buildah take images that nobody signed: they are our own."""
    policy = cache_dir() / "buildah" / "policy.json"
    write_atomically(policy, json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
    return ["--signature-policy", str(policy)]


def _buildah(*arguments: str) -> str:
    storage = cache_dir() / "buildah"
    places = ["--root", str(storage / "storage"), "--runroot", str(storage / "run"), "--storage-driver", "overlay"]
    configuration = storage / "containers.conf"
    write_atomically(configuration, f'[network]\nnetwork_config_dir = "{storage}/net.d"\n')
    environment = os.environ | {"BUILDAH_ISOLATION": "chroot", "CONTAINERS_CONF": str(configuration)}
    return output_of(["buildah", *places, *arguments], env=environment)
