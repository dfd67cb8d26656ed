"""The ffmpeg program: finding it, asking what it can do, and one running encoder fed through a pipe.

It runs in a session of its own, so that Ctrl-C in the terminal reaches this program alone, which then ends it in order.
"""

import contextlib
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from fractions import Fraction
from queue import Queue
from typing import Any

from scenes.load import UserError

INSTEAD = (
    "reinstall with `pip install --force-reinstall imageio-ffmpeg`, or make a picture with `still` (.png), which needs no ffmpeg"
)
ENCODER = "libx264"
PIPE_BYTES = 1 << 20  # Linux' largest without privileges; the default of 64 KiB means 60 wake-ups a frame


def executable() -> str:
    """Path of ffmpeg: $IMAGEIO_FFMPEG_EXE where set, else the one that comes with imageio-ffmpeg, else the system's.

    Raises UserError when there is none to run.
    """
    import imageio_ffmpeg  # here, because it is only needed by recordings

    try:
        exe = str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError as error:
        raise UserError(f"no ffmpeg found on this machine; {INSTEAD}") from error
    if shutil.which(exe) is None:
        source = " (set by IMAGEIO_FFMPEG_EXE; unset it to use the one installed with phisphere)"
        raise UserError(f"no ffmpeg to run at {exe}{source if os.environ.get('IMAGEIO_FFMPEG_EXE') else f'; {INSTEAD}'}")
    return exe


def check_encoder() -> str:
    """Path of an ffmpeg that has the H.264 encoder. Raises UserError saying what is missing."""
    exe = executable()
    if ENCODER not in encoders(exe):
        raise UserError(f"{exe} has no {ENCODER} encoder, so it cannot make an .mp4; {INSTEAD}")
    return exe


@functools.cache
def encoders(exe: str) -> frozenset[str]:
    """Names of the encoders that the ffmpeg at `exe` was built with. Raises UserError when it does not run."""
    try:
        listed = subprocess.run([exe, "-hide_banner", "-encoders"], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"{exe} does not run as ffmpeg ({error}); {INSTEAD}") from error
    rows = (line.split() for line in listed.splitlines())
    return frozenset(row[1] for row in rows if len(row) > 1 and len(row[0]) == 6)  # "V....D libx264 description"


def h264_command(exe: str, target: str, size: tuple[int, int], fps: float, metadata: dict[str, str]) -> list[str]:
    """Raw R, G, B, x bytes on stdin -> H.264 in MP4 at `target`.

    Colours are converted with the BT.709 matrix to limited range and tagged so: players that see no tag guess by size.
    `veryfast` at crf 16 was chosen by measurement on thin lines and small balls at 1920x1080: half the work of `medium` at
    crf 18 (56 against 108 ms of processor time a frame), SSIM 0.992 against 0.993. A key frame every half second makes
    scrubbing easy.
    """
    width, height = size
    rate = Fraction(repr(float(fps))).limit_denominator(1_000_000)
    half_second = max(1, round(fps / 2))
    convert = "scale=in_range=pc:out_color_matrix=bt709:out_range=tv:flags=accurate_rnd+full_chroma_int"
    tag = "setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709"
    command = [exe, "-hide_banner", "-nostdin", "-nostats", "-loglevel", "warning", "-y"]
    command += ["-f", "rawvideo", "-pixel_format", "rgb0", "-video_size", f"{width}x{height}", "-framerate", str(rate), "-i", "-"]
    command += ["-an", "-vf", f"{convert},format=yuv420p,{tag}"]
    command += ["-c:v", ENCODER, "-preset", "veryfast", "-crf", "16", "-g", str(half_second), "-flags", "+cgop"]
    command += ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"]
    for key, value in metadata.items():
        command += ["-metadata", f"{key}={value}"]
    return [*command, "-movflags", "+faststart", "-f", "mp4", f"file:{target}"]


class EncoderError(RuntimeError):
    """ffmpeg stopped; the message holds its own last words."""


class Encoder:
    """A running ffmpeg and the thread that feeds it, so that encoding overlaps with simulating.

    `depth` frames may wait; then `write` blocks. Buffers are reused, so a film allocates nothing per frame.
    """

    def __init__(self, command: Sequence[str], frame_bytes: int, depth: int = 3) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the process; a pipe could fill and block)
        self._process = subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._stderr, bufsize=0, **_own_session()
        )
        _widen(self._process.stdin)
        self._free: Queue[bytearray] = Queue()
        for _ in range(depth):
            self._free.put(bytearray(frame_bytes))
        self._full: Queue[bytearray | None] = Queue()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._feed, name="encoder", daemon=True)
        self._thread.start()

    def write(self, pixels: memoryview) -> None:
        """Hand over one frame; `pixels` may change as soon as this returns. Raises EncoderError once ffmpeg has stopped."""
        buffer = self._free.get()
        if self._error is not None:
            self._free.put(buffer)
            raise EncoderError(self._last_words())
        buffer[:] = pixels
        self._full.put(buffer)

    def finish(self) -> None:
        """Send what waits, let ffmpeg end the file. Raises EncoderError when it does not end well."""
        self._full.put(None)
        self._thread.join()
        code = self._process.wait()
        if self._error is not None or code != 0:
            raise EncoderError(self._last_words())
        self._stderr.close()

    def kill(self) -> None:
        """Stop at once; the file it was writing is left incomplete."""
        self._process.kill()
        self._process.wait()
        self._full.put(None)  # a thread blocked in a write has just seen its pipe break
        self._thread.join()
        self._stderr.close()

    def _feed(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        while (buffer := self._full.get()) is not None:
            if self._error is None:
                try:
                    _write_all(pipe, buffer)
                except OSError as error:  # a broken pipe: the reason stands in ffmpeg's stderr
                    self._error = error
            self._free.put(buffer)
        with contextlib.suppress(OSError):
            pipe.close()

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=10)
        self._stderr.seek(0)
        lines = self._stderr.read().decode("utf-8", errors="replace").strip().splitlines()
        return f"ffmpeg stopped with exit code {self._process.returncode}: " + (" / ".join(lines[-3:]) or "it gave no reason")


def _write_all(pipe: Any, data: bytearray) -> None:
    view = memoryview(data)
    while view:  # an unbuffered pipe may take a part only
        view = view[pipe.write(view) :]


def _own_session() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _widen(pipe: Any) -> None:
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):  # refused where the user's pipe quota is used up; then it is merely slower
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
