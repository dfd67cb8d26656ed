"""Films and stills read back by independent decoders: what was asked for is what the file holds.

Colours: 8-bit limited-range BT.709 has one code per 1.16 grey levels, and the codec adds about one: within +-3 after decoding.
"""

import os
import re
import subprocess

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from render import ffmpeg
from render.frame import Frame
from render.video import Mp4Sink, NullSink, PngSink, check_output, open_sink, samples
from scenes.load import UserError

SIZE = (128, 72)


def painted(color, size=SIZE):
    return Frame(*size, color)


def film(path, colors, size=SIZE, fps=30, **options):
    sink = Mp4Sink(path, size, fps, **options)
    for color in colors:
        sink.write(painted(color, size))
    sink.close()
    return path


def described(path):
    """What ffmpeg says about the file."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", "-i", str(path)]
    return subprocess.run(command, capture_output=True, text=True).stderr


def decoded(path):
    """Frames (n, H, W, 3) as any player that follows the file's tags shows them."""
    width, height = (int(side) for side in re.search(r"yuv420p.*?, (\d+)x(\d+)", described(path)).groups())
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(data, np.uint8).reshape(-1, height, width, 3)


def rate(path):
    """Frames per second, as the file says."""
    return float(re.search(r"([\d.]+) fps", described(path)).group(1))


def boxes(path):
    """Names of the top-level boxes of an MP4, in order."""
    data, at, names = path.read_bytes(), 0, []
    while at < len(data):
        names.append(data[at + 4 : at + 8].decode())
        at += int.from_bytes(data[at : at + 4], "big")
    return names


def test_a_film_has_the_asked_size_length_rate_and_format(tmp_path):
    path = film(tmp_path / "a.mp4", [(20, 30, 40)] * 17, size=(126, 70), fps=25, title="A turn", comment="phisphere 0.1")
    assert decoded(path).shape == (17, 70, 126, 3) and rate(path) == 25
    text = described(path)
    assert re.search(r"Video: h264 .*yuv420p\(tv, bt709, progressive\), 126x70", text), text
    assert "A turn" in text and "phisphere 0.1" in text
    assert samples(path) == 17
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.mp4"]


def test_the_index_comes_before_the_pictures(tmp_path):
    names = boxes(film(tmp_path / "a.mp4", [(0, 0, 0)] * 3))
    assert names.index("moov") < names.index("mdat")


@pytest.mark.parametrize("fps", [24, 29.97, 60])
def test_odd_rates_are_kept(tmp_path, fps):
    path = film(tmp_path / "a.mp4", [(9, 9, 9)] * 4, fps=fps)
    assert rate(path) == pytest.approx(fps, abs=0.005) and len(decoded(path)) == 4


def test_colours_survive_within_three_levels(tmp_path):
    colors = [(0, 255, 0), (0x14, 0xA0, 0x8C), (255, 255, 255), (0, 0, 0), (200, 100, 50), (11, 14, 20)]
    for color in colors:
        frames = decoded(film(tmp_path / "a.mp4", [color] * 2, force=True))
        assert np.abs(frames.astype(int) - color).max() <= 3, color


def test_rows_and_columns_stay_where_they_are_and_in_order(tmp_path):
    frame = painted((0, 0, 0))
    frame.rgba[:36, 64:, :3] = 255  # top right
    sink = Mp4Sink(tmp_path / "a.mp4", SIZE, 30)
    sink.write(frame)
    frame.fill((255, 0, 0))  # the sink took its copy
    sink.write(frame)
    sink.close()
    first, second = decoded(tmp_path / "a.mp4").astype(int)
    assert first[8:28, 80:120].min() > 250 and first[44:64].max() < 5 and first[:, :48].max() < 5
    assert np.abs(second - (255, 0, 0)).max() <= 3


def test_many_more_frames_than_the_queue_holds_arrive_in_order(tmp_path):
    greys = [(g, g, g) for g in range(20, 220, 4)]
    frames = decoded(film(tmp_path / "a.mp4", greys))
    assert np.abs(frames.mean(axis=(1, 2, 3)) - np.arange(20, 220, 4)).max() <= 3


def test_names_with_spaces_quotes_colons_and_other_scripts(tmp_path):
    path = tmp_path / "out dir" / "naïve 'β': 100% 球.mp4"
    film(path, [(1, 2, 3)] * 2)
    assert samples(path) == 2
    sink = PngSink(path.with_suffix(".png"))
    sink.write(painted((1, 2, 3)))
    sink.close()
    with Image.open(path.with_suffix(".png")) as picture:
        assert picture.size == SIZE


def test_an_existing_film_is_kept_unless_forced(tmp_path):
    target = tmp_path / "a.mp4"
    target.write_bytes(b"precious")
    with pytest.raises(UserError, match="--force"):
        Mp4Sink(target, SIZE, 30)
    assert target.read_bytes() == b"precious"
    film(target, [(1, 2, 3)], force=True)
    assert samples(target) == 1


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path):
    target = tmp_path / "a.mp4"
    sink = Mp4Sink(target, SIZE, 30)
    sink.write(painted((1, 2, 3)))
    target.write_bytes(b"precious")
    with pytest.raises(UserError, match="kept as"):
        sink.close()
    assert target.read_bytes() == b"precious"
    (kept,) = [entry for entry in tmp_path.iterdir() if "partial" in entry.name]
    assert samples(kept) == 1


def test_while_it_is_made_nothing_stands_under_the_final_name_and_aborting_leaves_nothing(tmp_path):
    sink = Mp4Sink(tmp_path / "a.mp4", SIZE, 30)
    for _ in range(20):
        sink.write(painted((1, 2, 3)))
    assert not (tmp_path / "a.mp4").exists()
    sink.abort()
    sink.abort()
    assert list(tmp_path.iterdir()) == []


def test_an_encoder_that_dies_is_reported_with_its_own_words(tmp_path, monkeypatch):
    command = ffmpeg.h264_command

    def broken(*arguments):
        return [*command(*arguments)[:-1], "-no_such_option", "1", "x.mp4"]

    monkeypatch.setattr("render.video.h264_command", broken)
    with pytest.raises(UserError, match="no_such_option"):
        film(tmp_path / "a.mp4", [(1, 2, 3)] * 400)  # more than pipe and queue hold
    assert list(tmp_path.iterdir()) == []


def test_an_encoder_killed_at_the_end_leaves_nothing(tmp_path):
    sink = Mp4Sink(tmp_path / "a.mp4", SIZE, 30)
    sink.write(painted((1, 2, 3)))
    sink._encoder._process.kill()
    with pytest.raises(UserError, match="nothing was kept"):
        sink.close()
    assert list(tmp_path.iterdir()) == []


def test_odd_sides_are_refused_for_films_with_the_sides_that_work(tmp_path):
    with pytest.raises(UserError, match="1282x720"):
        check_output(tmp_path / "a.mp4", size=(1281, 719))
    assert check_output(tmp_path / "a.png", size=(1281, 719)) == tmp_path / "a.png"


def test_a_missing_ffmpeg_is_found_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/nonexistent/ffmpeg")
    with pytest.raises(UserError, match=r"/nonexistent/ffmpeg.*IMAGEIO_FFMPEG_EXE"):
        check_output(tmp_path / "new" / "a.mp4", size=SIZE)
    assert not (tmp_path / "new").exists()
    check_output(tmp_path / "a.png", size=SIZE)


def test_a_program_that_is_no_ffmpeg_is_refused(tmp_path, monkeypatch):
    fake = tmp_path / "ffmpeg"
    fake.write_text("#!/bin/sh\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(fake))
    with pytest.raises(UserError, match="does not run as ffmpeg"):
        check_output(tmp_path / "a.mp4", size=SIZE)


def test_an_ffmpeg_without_the_encoder_is_refused(tmp_path, monkeypatch):
    fake = tmp_path / "ffmpeg"
    fake.write_text("#!/bin/sh\necho ' V....D mpeg4   MPEG-4 part 2'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(fake))
    with pytest.raises(UserError, match="no libx264 encoder"):
        check_output(tmp_path / "a.mp4", size=SIZE)


def test_bad_targets_are_refused_and_folders_are_made(tmp_path):
    with pytest.raises(UserError, match=r"\.mp4 or \.png, not \.avi"):
        check_output(tmp_path / "a.avi")
    with pytest.raises(UserError, match=r"\.mp4 or \.png"):
        check_output(tmp_path / "noextension")
    (tmp_path / "d.png").mkdir()
    with pytest.raises(UserError, match="folder"):
        check_output(tmp_path / "d.png")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        check_output(tmp_path / "file" / "a.png")
    check_output(tmp_path / "x" / "y" / "a.png")
    assert (tmp_path / "x" / "y").is_dir() and list((tmp_path / "x" / "y").iterdir()) == []


def test_a_still_is_lossless_and_carries_its_text(tmp_path):
    frame = painted((0, 0, 0))
    frame.pixels[:] = np.random.default_rng(0).integers(0, 2**24, frame.pixels.shape, np.uint32) | 0xFF000000
    sink = open_sink(tmp_path / "a.PNG", SIZE, 30, title="Sphère")
    sink.write(frame)
    sink.close()
    with Image.open(tmp_path / "a.PNG") as picture:
        assert picture.mode == "RGB" and picture.text["Title"] == "Sphère"
        assert (np.asarray(picture) == frame.rgba[..., :3]).all()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.PNG"]


def test_frames_of_another_size_are_refused(tmp_path):
    sink = Mp4Sink(tmp_path / "a.mp4", SIZE, 30)
    with pytest.raises(ValueError, match="takes frames"):
        sink.write(painted((0, 0, 0), (64, 64)))
    sink.abort()


def test_no_path_means_counting():
    sink = open_sink(None, SIZE, 30)
    assert isinstance(sink, NullSink)
    sink.write(painted((0, 0, 0)))
    sink.close()
    assert sink.frames == 1


def test_the_encoder_runs_in_a_session_of_its_own(tmp_path):
    sink = Mp4Sink(tmp_path / "a.mp4", SIZE, 30)
    assert os.getsid(sink._encoder._process.pid) != os.getsid(0)
    sink.abort()
