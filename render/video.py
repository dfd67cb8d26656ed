"""Where finished frames go: an MP4 film, a PNG picture, or nowhere (a count).

A file is written beside its target under a name with `.partial-`, and gets its own name only when it is whole, so that
nothing broken ever stands under the final name. `check_output` finds what would fail before anything is simulated.
"""

import contextlib
import os
import tempfile
from pathlib import Path
from typing import BinaryIO, Protocol

from render.ffmpeg import Encoder, EncoderError, check_encoder, h264_command
from render.frame import Frame
from scenes.load import UserError

FILMS = (".mp4",)
PICTURES = (".png",)


class Sink(Protocol):
    """What a recording is written to."""

    frames: int  # how many were written

    def write(self, frame: Frame) -> None:
        """Take one frame; it may be painted over as soon as this returns."""
        ...

    def close(self) -> None:
        """Finish: only now does the file appear under its final name. Raises UserError when it cannot."""
        ...

    def abort(self) -> None:
        """Stop and remove what was written so far. Never raises; nothing to do after `close`."""
        ...


class NullSink:
    """Counts frames."""

    def __init__(self) -> None:
        self.frames = 0

    def write(self, frame: Frame) -> None:  # noqa: ARG002  (a sink's signature)
        self.frames += 1

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


class Mp4Sink:
    """H.264, yuv420p, exactly `size` = (width, height) (both even), bt709, faststart, at `fps` frames per second.

    Raises UserError, before a frame is made, for whatever `check_output` finds.
    """

    def __init__(
        self, path: str | Path, size: tuple[int, int], fps: float, *, force: bool = False, title: str = "", comment: str = ""
    ) -> None:
        self.path = check_output(path, size=size, force=force, kinds=FILMS)
        self.size = size
        self.frames = 0
        self._force = force
        self._partial = partial_name(self.path)
        said = {key: value for key, value in (("title", title), ("comment", comment)) if value}
        command = h264_command(check_encoder(), str(self._partial), size, fps, said)
        self._encoder: Encoder | None = Encoder(command, 4 * size[0] * size[1])

    def write(self, frame: Frame) -> None:
        if self._encoder is None:
            raise ValueError("this film is already closed")
        if frame.size != self.size:
            raise ValueError(f"this film takes frames of {self.size}, got {frame.size}")
        try:
            self._encoder.write(frame.pixels.data.cast("B"))
        except EncoderError as error:
            self.abort()
            raise UserError(f"{self.path}: {error}") from error
        self.frames += 1

    def close(self) -> None:
        if self._encoder is None:
            return
        try:
            self._encoder.finish()
            held = samples(self._partial)
            if held != self.frames:
                raise EncoderError(f"the film holds {held} of {self.frames} frames")
        except (EncoderError, OSError, ValueError) as error:
            self.abort()
            raise UserError(f"{self.path}: {error}; nothing was kept") from error
        self._encoder = None
        publish(self._partial, self.path, self._force)

    def abort(self) -> None:
        if self._encoder is not None:
            self._encoder.kill()
            self._encoder = None
            self._partial.unlink(missing_ok=True)


class PngSink:
    """One still picture: the newest frame written. `text` is stored in the file (key -> value)."""

    def __init__(self, path: str | Path, *, force: bool = False, text: dict[str, str] | None = None) -> None:
        self.path = check_output(path, force=force, kinds=PICTURES)
        self.frames = 0
        self._force = force
        self._text = text or {}
        self._newest: Frame | None = None

    def write(self, frame: Frame) -> None:
        self._newest = frame.copy()
        self.frames += 1

    def close(self) -> None:
        if self._newest is None:
            return
        from PIL import Image, PngImagePlugin

        chunks = PngImagePlugin.PngInfo()
        for key, value in self._text.items():
            chunks.add_itxt(key, value)
        partial = partial_name(self.path)
        try:
            Image.fromarray(self._newest.rgb()).save(partial, format="PNG", pnginfo=chunks)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise UserError(f"{self.path}: {error.strerror or error}; nothing was kept") from error
        self._newest = None
        publish(partial, self.path, self._force)

    def abort(self) -> None:
        self._newest = None


def open_sink(
    path: str | Path | None, size: tuple[int, int], fps: float, *, force: bool = False, title: str = "", comment: str = ""
) -> Sink:
    """The sink that the name asks for by its extension; None counts frames only. Raises UserError like `check_output`."""
    if path is None:
        return NullSink()
    target = check_output(path, size=size, force=force)
    if target.suffix.lower() in PICTURES:
        return PngSink(target, force=force, text={"Title": title, "Comment": comment})
    return Mp4Sink(target, size, fps, force=force, title=title, comment=comment)


def check_output(
    path: str | Path, *, size: tuple[int, int] | None = None, force: bool = False, kinds: tuple[str, ...] = FILMS + PICTURES
) -> Path:
    """The absolute path to write to, its folder made where missing.

    Raises UserError for: an extension outside `kinds`; an odd side of a film; an existing file without `force`; a folder
    that cannot be made or written to; no ffmpeg with an H.264 encoder for a film.
    """
    target = Path(os.path.abspath(os.path.expanduser(path)))
    suffix = target.suffix.lower()
    if suffix not in kinds:
        raise UserError(f"{path}: the name must end in {' or '.join(kinds)}" + (f", not {suffix}" if suffix else ""))
    if target.is_dir():
        raise UserError(f"{path}: is a folder, not a file name")
    if target.exists() and not force:
        raise UserError(f"{path}: exists already; choose another name, or replace it with --force")
    if suffix in FILMS:
        if size is not None:
            _check_even(size)
        check_encoder()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise UserError(f"{path}: cannot write into {target.parent} ({error.strerror or error})") from error
    return target


def samples(path: str | Path) -> int:
    """How many video frames an MP4 file holds, by the sample size box of its index. Raises ValueError when it has none."""
    with open(path, "rb") as file:
        start, end = 0, os.fstat(file.fileno()).st_size
        for name in (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsz"):
            start, end = _box(file, name, start, end)
        file.seek(start + 8)  # after version, flags and the common size
        return int.from_bytes(file.read(4), "big")


def _box(file: BinaryIO, name: bytes, start: int, end: int) -> tuple[int, int]:
    """Where the content of the first box called `name` between two offsets lies (ISO/IEC 14496-12, 4.2)."""
    while start + 8 <= end:
        file.seek(start)
        head = file.read(16)
        length, header = int.from_bytes(head[:4], "big"), 8
        if length == 1:
            length, header = int.from_bytes(head[8:16], "big"), 16
        if head[4:8] == name:
            return start + header, start + (length or end - start)
        if length < header:
            break
        start += length
    raise ValueError(f"no {name.decode()} box in the file")


def _check_even(size: tuple[int, int]) -> None:
    width, height = size
    if width % 2 or height % 2:
        even = f"{width + width % 2}x{height + height % 2}"
        raise UserError(f"an .mp4 (H.264, yuv420p) needs even sides, not {width}x{height}; ask for --size {even}, or make a .png")


def partial_name(target: Path) -> Path:
    """Beside the target, so that renaming stays on one disk; cut short, since names are limited to 255 bytes."""
    return target.with_name(f"{target.stem[:40]}.partial-{os.getpid()}{target.suffix}")


def publish(partial: Path, target: Path, force: bool) -> None:
    """Give the whole file its name. A file that appeared meanwhile is not replaced without `force`."""
    try:
        if force:
            os.replace(partial, target)
            return
        try:
            os.link(partial, target)  # unlike a rename it never replaces
        except FileExistsError as error:
            raise UserError(f"{target}: appeared while this was made; the result is kept as {partial}") from error
        except OSError:  # a disk without hard links
            os.replace(partial, target)
            return
        with contextlib.suppress(OSError):
            partial.unlink()
    except OSError as error:
        raise UserError(f"{target}: {error.strerror or error}; the result is kept as {partial}") from error
