"""Scene files: what is read, what is refused, and in which words. Refusals name file, line, key, and what would be right."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from scenes.errors import SceneError, UserError
from scenes.load import dump_scene, load_scene, resolve_panes, schema, shipped
from scenes.yaml_source import parse

MINIMAL = """\
title: Möbius – β
system:
  kind: attention
  heads: 2
  weights: {kind: rotating, omega: 1e0}
  dt: 2e-2
view: {kind: globe, camera: {azimuth: 10}}
"""
PLANE = """\
title: plane
system: {kind: two_factor_plane, mu: 0.9}
view: {kind: plane}
"""


@pytest.fixture
def write(tmp_path):
    def written(text, name="scene.yaml"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path

    return written


def refused(path, *overrides):
    with pytest.raises(SceneError) as caught:
        load_scene(path, overrides)
    return str(caught.value)


def test_a_scene_is_read_with_its_defaults(write):
    scene = load_scene(write(MINIMAL))
    assert scene.title == "Möbius – β"
    assert (scene.system.dt, scene.system.heads, scene.system.tokens.count) == (0.02, 2, 1024)
    assert scene.film.size == (1280, 720)


@pytest.mark.parametrize("text", ["1e-3", "1.0e-3", "+1E-3", ".001", "0.001"])
def test_numbers_are_numbers(write, text):
    assert load_scene(write(MINIMAL.replace("2e-2", text))).system.dt == 0.001


@pytest.mark.parametrize("text", ["1e3", "1.0e3", "1000", "1_000.0"])
def test_large_numbers(write, text):
    path = write(PLANE.replace("mu: 0.9", "mu: 0.9") + f"film: {{speed: {text}}}\n")
    if "_" in text:
        assert "is not a number" in refused(path)
    else:
        assert load_scene(path).film.speed == 1000


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("seed: 010", "leading zero"),
        ("seed: 08", "leading zero"),
        ("seed: -1", "greater than or equal to 0"),
        ("seed: true", "not a whole number"),
        ("seed: 64.0", "not a whole number"),
        ("film: {fps: .nan}", "finite"),
        ("film: {fps: .inf}", "finite"),
        ("film: {fps: 1.0e+400}", "finite"),
        ("film: {fps: 'thirty'}", "not a number"),
        ("film: {fps: yes}", "not a number"),
        ("film: {fps: 0}", "greater than 0"),
        ("film: {size: [70000, 70000]}", "8192"),
        ("film: {size: 5000}", "list"),
        ("panels: slope2", "list"),
        ("panels: [slope]", "did you mean `slope2`"),
        ("betta: 9", "is not a key of a scene"),
        ("fps: 30", "belongs under `film`"),
        ("azimuth: 30", "belongs under `view.camera`"),
        ("expect: {energi: [0, 1]}", "is not one of t, energy"),
        ("expect: {energy: [2, 1]}", "wrong order"),
        ("timeline: [{at: 3, beta: 1}, {at: 1, beta: 2}]", "order of time"),
        ("timeline: [{at: 3, betta: 1}]", "did you mean `beta`"),
        ("timeline: [{at: 3, beta: x}]", "not a number"),
        ("timeline: [{at: 3, view.camera.elevation: 120}]", "less than or equal to 90"),
        ("timeline: [{at: 3, ease: bouncy, beta: 1}]", "is not one of linear, smooth, hold"),
        ("panes: [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}]", "at most 9"),
        ("panes: [{system: {hedas: 2}}]", "did you mean `heads`"),
    ],
)
def test_refusals_name_line_and_key(write, line, reason):
    message = refused(write(MINIMAL + line + "\n"))
    assert reason in message
    place, key = message.splitlines()[0].split(": ")[:2]
    assert place.endswith("scene.yaml:8")
    assert line.split(":")[0] in key


def test_nested_typos_show_their_path(write):
    assert "view.camera.fovv: is not a key of `view.camera`" in refused(write(MINIMAL.replace("azimuth", "fovv")))
    message = refused(write(MINIMAL.replace("  heads", "  hedas")))
    assert "scene.yaml:4: system.hedas: is not a key of `system`, did you mean `heads`?" in message
    assert "did you mean `rotating`" in refused(write(MINIMAL.replace("rotating", "rotatin")))


def test_all_problems_at_once(write):
    lines = refused(write(MINIMAL.replace("2e-2", "-1").replace("heads: 2", "heads: 0") + "seed: x\n")).splitlines()
    assert [line.split(": ")[1] for line in lines] == ["system.heads", "system.dt", "seed"]


def test_duplicate_keys_name_both_lines(write):
    message = refused(write(MINIMAL + "seed: 1\nseed: 9\n"))
    assert "scene.yaml:9: seed: stands twice, first on line 8" in message


def test_missing_keys(write):
    message = refused(write("title: x\nview: {kind: globe}\n"))
    assert "system: is missing" in message
    assert "view.kind" not in message


def test_kinds_must_fit_each_other(write):
    assert "cannot show a system of kind" in refused(write(PLANE.replace("kind: plane}", "kind: globe}")))
    assert "panels are curves of an attention system" in refused(write(PLANE + "panels: [slope2]\n"))


def test_lists_have_one_entry_per_head(write):
    message = refused(write(MINIMAL.replace("omega: 1e0", "omega: [1, 2, 3]")))
    assert "scene.yaml:5: system.weights.omega: lists 3 numbers for 2 heads" in message


def test_sizes_are_bounded_before_anything_is_allocated(write):
    assert "system.tokens.count" in refused(write(MINIMAL), "system.tokens.count=5000000000")
    assert "film.size" in refused(write(PLANE), "film.size=[8192, 8192]", "view.supersample=4")


@pytest.mark.parametrize(
    "text", ["title: [", "\ttitle: x", "a: b: c", "- 1\n- 2", "", "just text", "!!python/object:os.system x"]
)
def test_what_is_not_a_scene_is_one_line(write, text):
    message = refused(write(text))
    assert len(message.splitlines()) == 1 and "scene.yaml" in message


def test_encodings(write):
    assert load_scene(write(b"\xef\xbb\xbf" + MINIMAL.encode())).title == "Möbius – β"
    assert "UTF-8" in refused(write(MINIMAL.encode("latin-1", "replace")))


def test_bombs_and_depths_are_refused(write):
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)
    )
    assert "larger than a scene can be" in refused(write(bomb))
    assert "nested deeper" in refused(write("a: " + "[" * 60 + "]" * 60))
    assert "nested deeper" in refused(write("a: " + "[" * 5000 + "]" * 5000))
    assert "at most" in refused(write("#" * 2_000_000))


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(UserError, match="did you mean `never_settles`"):
        load_scene("never_setles")
    with pytest.raises(UserError, match="No such file"):
        load_scene(tmp_path / "none.yaml")


def test_paths_with_spaces_quotes_and_letters(write):
    assert load_scene(write(MINIMAL, "naïve 'β' 球.yaml")).system.heads == 2


def test_token_files_count_from_the_scene(write, tmp_path):
    text = MINIMAL.replace("  heads", "  tokens: {start: file, file: x.npy}\n  heads")
    assert "there is no file" in refused(write(text))
    (tmp_path / "x.npy").write_bytes(b"")
    assert load_scene(write(text)).system.tokens.file == str(tmp_path / "x.npy")
    assert "go together" in refused(write(text.replace("file: x.npy", "count: 3")))


@pytest.mark.parametrize(
    ("override", "value"),
    [("system.heads=5", 5), ("system.dt=1e-3", 1e-3), ("film.size=[640,360]", (640, 360)), ("view.camera.azimuth=-7", -7.0)],
)
def test_overrides(write, override, value):
    here = load_scene(write(MINIMAL), [override])
    for part in override.split("=")[0].split("."):
        here = getattr(here, part)
    assert here == value


def test_overrides_reach_into_lists(write):
    path = write(MINIMAL + "timeline: [{at: 0, beta: 1}, {at: 2, beta: 3}]\n")
    assert load_scene(path, ["timeline.1.beta=5"]).timeline[1].targets == {"beta": 5}
    assert "numbered from 0" in refused(path, "timeline.7.beta=5")


def test_a_new_kind_keeps_what_fits(write):
    scene = load_scene(write(MINIMAL.replace("omega: 1e0", "omega: 1e0, beta: 3.0")), ["system.weights.kind=ou"])
    assert (scene.system.weights.kind, scene.system.weights.beta) == ("ou", 3.0)


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("system.hedas=1", "did you mean `heads`"),
        ("nonsense", "write it as key=value"),
        ("title.x=1", "nothing below"),
        ("seed=010", "leading zero"),
        ("system.weights.kind=oo", "is not one of static, ou"),
    ],
)
def test_wrong_overrides_are_named_as_such(write, override, reason):
    message = refused(write(MINIMAL), override)
    assert message.startswith(f"--set {override}: ") and reason in message


def test_seed_and_precision_from_the_command_line(write):
    scene = load_scene(write(MINIMAL), seed=42, precision="f64")
    assert (scene.seed, scene.system.precision) == (42, "f64")


def test_panes_are_scenes_of_their_own(write):
    text = (
        MINIMAL
        + "panes:\n  - {label: one, system: {heads: 1}}\n  - {label: ou, system: {weights: {kind: ou}}, view: {color: speed}}\n"
    )
    (one, first), (_, second) = resolve_panes(load_scene(write(text)))
    assert (one, first.system.heads, first.view.color) == ("one", 1, "start")
    assert (second.system.heads, second.system.weights.kind, second.view.color) == (2, "ou", "speed")
    assert resolve_panes(load_scene(write(MINIMAL)))[0][0] == ""
    assert "scene.yaml:10: panes.1.system.weights.kind" in refused(write(text.replace("kind: ou", "kind: oo")))


@pytest.mark.parametrize("name", [scene.name for scene in shipped()])
def test_shipped_scenes_round_trip(name, write):
    scene = load_scene(name)
    assert load_scene(write(dump_scene(scene))) == scene
    assert scene.title and scene.caption and scene.source and scene.expect


def test_the_shipped_scenes_are_all_there():
    wanted = {
        "never_settles", "ou_relaxes", "paper_s2_ou", "paper_s2_oscillating", "clusters",
        "basins_catapult", "basins_period2", "basins_chaos", "beyond_two",
    }  # fmt: skip
    names = [scene.name for scene in shipped()]
    assert wanted <= set(names)
    assert len({scene.title for scene in shipped()}) == len(names)


def test_the_schema_describes_every_key():
    text = schema()
    assert text["$schema"].endswith("2020-12/schema")
    json.dumps(text)

    def undescribed(model, path):
        for key, value in model.get("properties", {}).items():
            if key not in ("kind", "axis", "axes") and "description" not in value:
                yield f"{path}.{key}"

    missing = [name for title, model in text["$defs"].items() for name in undescribed(model, title)]
    missing += list(undescribed(text, "Scene"))
    assert not missing


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=200))
def test_no_bytes_crash_the_reader(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_bytes(data)
    with pytest.raises(UserError):
        load_scene(path)


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(key=st.sampled_from(["title", "seed", "system", "view", "film", "panels", "timeline", "panes", "expect"]), value=json_like)
def test_any_value_of_any_key_is_taken_or_refused_in_words(key, value, tmp_path_factory):
    path: Path = tmp_path_factory.getbasetemp() / "value.yaml"
    data = parse(MINIMAL, "minimal").data
    data[key] = value
    path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    try:
        load_scene(path)
        said = []
    except SceneError as error:
        said = str(error).splitlines()
    assert all(line.startswith(str(path)) for line in said)


@settings(max_examples=60, deadline=None)
@given(
    key=st.sampled_from(["heads", "weights", "tokens", "integrator", "flow"]),
    at=st.integers(0, 20),
    letter=st.sampled_from("aeioxz"),
)
def test_one_wrong_letter_still_finds_the_key(key, at, letter):
    typo = key[: at % len(key)] + letter + key[at % len(key) + 1 :]
    if typo == key:
        return
    with pytest.raises(SceneError) as caught:
        load_scene("never_settles", [f"system.{typo}=1"])
    assert f"did you mean `{key}`" in str(caught.value)
